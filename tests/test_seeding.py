from collections import Counter

import numpy as np
import pytest

from app.seeding import Draws, derive


def test_equal_parts_give_equal_seeds_on_any_machine() -> None:
    assert derive(1, "actor", 2) == derive(1, "actor", 2) == 2953231170073882480


def test_any_other_part_gives_another_seed() -> None:
    seeds = {derive(seed, rank, update) for seed in range(5) for rank in range(5) for update in range(200)}
    assert len(seeds) == 5000
    assert derive(1, 2, 3) != derive(12, 3) != derive(1, 23)


def test_seeds_fit_what_generators_take() -> None:
    assert all(0 <= derive(seed) < 2**63 for seed in range(1000))


def test_draws_go_on_from_their_count() -> None:
    draws = Draws(7)
    numbers = [draws.random() for _ in range(10)]
    assert numbers == [Draws(7, n).random() for n in range(10)]
    assert numbers != [Draws(8, n).random() for n in range(10)]


def test_draws_are_those_of_splitmix64() -> None:
    # First outputs for seed 1234567, as published with the generator (https://prng.di.unimi.it/splitmix64.c).
    draws = Draws(1234567)
    assert [draws._word() for _ in range(3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_draws_are_uniform() -> None:
    draws = Draws(derive(1, "x"))
    numbers = np.array([draws.random() for _ in range(20_000)])
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 0.01
    assert abs(numbers.var() - 1 / 12) < 0.002
    assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 0.02
    counts = Counter(draws.randrange(6) for _ in range(6_000))
    assert sorted(counts) == list(range(6))
    assert min(counts.values()) > 850
    assert draws.choice(["only"]) == "only"
    with pytest.raises(ValueError, match="positive stop, got 0"):
        draws.randrange(0)
