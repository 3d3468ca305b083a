import numpy as np
import pytest

from app.replay.held import Held
from app.replay.samplers import NewestFirst, OldestFirst, Prioritized, UniformSampler
from app.replay.selectors import Sampler

DRAWS = 20_000


def held_with(sampler: Sampler, priorities: list[float], capacity: int = 0) -> Held:
    held = Held(capacity or len(priorities))
    sampler.begin(held.capacity_rows)
    slots = held.add(np.array(priorities, float))
    sampler.added(slots, np.array(priorities, float))
    return held


def misfit(found: np.ndarray, probabilities: np.ndarray) -> float:  # type: ignore[type-arg]
    """Returns Pearson's chi-square of counts against what probabilities let expect."""
    expected = probabilities * found.sum()
    return float(((found - expected) ** 2 / expected).sum())


def test_the_oldest_come_first_and_stay() -> None:
    sampler = OldestFirst()
    held = held_with(sampler, [0.0] * 5)
    for _ in range(2):
        draw = sampler.draw(held, 3, np.random.default_rng(0))
        assert draw.slots.tolist() == [0, 1, 2]
        assert draw.probabilities.tolist() == [1, 1, 1]


def test_the_newest_come_first() -> None:
    sampler = NewestFirst()
    held = held_with(sampler, [0.0] * 5)
    assert sampler.draw(held, 3, np.random.default_rng(0)).slots.tolist() == [4, 3, 2]
    assert len(sampler.draw(held, 9, np.random.default_rng(0)).slots) == 5


def test_a_uniform_sampler_draws_each_row_that_is_held_equally_often() -> None:
    sampler = UniformSampler()
    held = held_with(sampler, [0.0] * 12, capacity=20)
    held.remove(np.array([0, 7]))
    draw = sampler.draw(held, DRAWS, np.random.default_rng(3))
    assert draw.probabilities.tolist() == [0.1] * DRAWS
    found = np.bincount(draw.slots, minlength=20)
    assert np.flatnonzero(found == 0).tolist() == [0, 7, *range(12, 20)]
    assert misfit(found[found > 0], np.full(10, 0.1)) < 27.88  # Exceeded once in 1,000 times.


@pytest.mark.parametrize("exponent", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("batch", [1, 32])
def test_rows_are_drawn_with_the_probabilities_of_the_paper(exponent: float, batch: int) -> None:
    priorities = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 3.5, 3.5, 9.0, 0.2, 4.0, 0.7, 1.3])
    sampler = Prioritized(exponent, 0.05)
    held = held_with(sampler, priorities.tolist())
    mass = (priorities + 0.05) ** exponent
    expected = mass / mass.sum()
    rng, found = np.random.default_rng(11), np.zeros(len(priorities))
    for _ in range(DRAWS // 4 // batch):
        draw = sampler.draw(held, batch, rng)
        np.testing.assert_allclose(draw.probabilities, expected[draw.slots], rtol=1e-12)
        found += np.bincount(draw.slots, minlength=len(priorities))
    # Exceeded once in 1,000 times by independent draws; strata vary less.
    assert misfit(found, expected) < 31.26


def test_strata_draw_each_row_as_often_as_its_share_of_the_mass_to_within_one() -> None:
    sampler = Prioritized(1.0, 1e-12)
    held = held_with(sampler, [1.0, 2.0, 5.0])
    for seed in range(20):
        draw = sampler.draw(held, 80, np.random.default_rng(seed))
        assert np.bincount(draw.slots).tolist() == [10, 20, 50]


def test_a_row_that_left_is_never_drawn_and_a_new_priority_counts_at_once() -> None:
    sampler = Prioritized(1.0, 1e-6)
    held = held_with(sampler, [1.0, 100.0, 1.0])
    held.remove(np.array([1]))
    sampler.removed(np.array([1]))
    assert set(sampler.draw(held, 500, np.random.default_rng(0)).slots.tolist()) == {0, 2}
    sampler.added(np.array([0]), np.array([0.0]))
    draw = sampler.draw(held, 500, np.random.default_rng(0))
    assert draw.slots.tolist().count(2) >= 499
    assert draw.probabilities.max() > 0.999998


@pytest.mark.parametrize(("exponent", "epsilon"), [(-0.1, 1e-6), (1.1, 1e-6), (0.6, 0.0), (0.6, float("inf"))])
def test_impossible_exponents_are_refused(exponent: float, epsilon: float) -> None:
    with pytest.raises(
        ValueError, match=f"prioritized sampling needs .*got {exponent if epsilon == 1e-6 else epsilon}"
    ):
        Prioritized(exponent, epsilon)
