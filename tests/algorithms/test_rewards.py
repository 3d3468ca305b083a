from collections.abc import Mapping
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from app.algorithms.contract import Learned
from app.algorithms.rewards import Rewarded, RewardSettings
from app.algorithms.shaping import Moves, Potential
from app.errors import CheckpointError
from app.models.module import spec_of
from app.types import RowKind
from tests.algorithms.test_learner import TICKS, Tick, batch_of, identity, learner_of, parameters_of, shuffle
from tests.small_policy import small_policy

PLAIN = RewardSettings(gamma=0.5)
STEP, FULL, TERMINATED, TRUNCATED, LOST = RowKind


class Remembering:
    """Learns nothing and keeps the rewards that it was shown."""

    def __init__(self) -> None:
        self.rewards: list[list[float]] = []

    def update(self, batch: Mapping[str, Tensor], shuffle: torch.Generator) -> Learned:
        self.rewards.append(batch["reward"].tolist())
        return Learned({"loss_total": 1.0} if batch["weight"].any() else {})

    def state_dict(self) -> dict[str, Tensor]:
        return {"shown": torch.tensor(len(self.rewards))}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        assert set(state) == {"shown"}


def ticked(batch: dict[str, Tensor], first: int = 0, episode: int = 1) -> dict[str, Tensor]:
    """Returns a batch of one trajectory with its numbers."""
    rows = len(batch["kind"])
    return batch | {"episode": torch.full((rows,), episode), "tick": torch.arange(first, first + rows)}


def trajectory(*rewards: float, kind: RowKind = TERMINATED, first: int = 0) -> dict[str, Tensor]:
    steps = [Tick([float(at), 0.0], 0, reward) for at, reward in enumerate(rewards)]
    return ticked(batch_of([*steps, Tick([float(len(rewards)), 0.0], kind=kind)], small_policy()), first)


def made(settings: RewardSettings) -> tuple[Rewarded, Remembering]:
    inner = Remembering()
    return Rewarded(inner, spec_of(small_policy()), settings, identity), inner


def test_a_potential_shapes_what_is_learned_from_and_both_returns_are_told() -> None:
    hook = Potential("tests.algorithms.test_shaping:height", 0.5)
    learner, inner = made(replace(PLAIN, shaping=hook))
    metrics = learner.update(trajectory(1.0, 1.0), shuffle()).metrics
    assert inner.rewards == [[1.5, 0.0, 0.0]]  # 1 + 1/2 - 0, and 1 + 0 - 1: nothing is behind the end.
    assert (metrics["reward"], metrics["reward_learned"]) == (1.0, 0.75)
    assert (metrics["return"], metrics["return_shaped"]) == (2.0, 1.5)
    assert metrics["loss_total"] == 1.0


def test_rewards_are_divided_by_the_deviation_of_the_sums_so_far() -> None:
    learner, inner = made(replace(PLAIN, normalise=True))
    metrics = learner.update(trajectory(2.0, 4.0, kind=FULL), shuffle()).metrics
    assert inner.rewards[0][:2] == pytest.approx([4 / 3, 8 / 3])  # Sums 2 and 5, deviation 1.5.
    assert metrics["reward_scale"] == pytest.approx(1.5)
    assert "return" not in metrics
    learner.update(trajectory(0.5, first=2), shuffle())  # The episode goes on: 5 / 2 + 0.5 = 3.
    assert inner.rewards[1][0] == pytest.approx(0.5 / (38 / 3 - (10 / 3) ** 2) ** 0.5, rel=1e-5)


def test_rewards_are_bounded_after_all_else() -> None:
    learner, inner = made(replace(PLAIN, largest=1.0))
    metrics = learner.update(trajectory(2.0, -3.0, 0.5), shuffle()).metrics
    assert inner.rewards == [[1.0, -1.0, 0.5, 0.0]]
    assert metrics["return"] == -0.5
    assert metrics["reward_learned"] == pytest.approx(0.5 / 3)


def test_rows_that_do_not_count_leave_the_scale_alone() -> None:
    learner, _ = made(replace(PLAIN, normalise=True))
    learner.update(trajectory(2.0, 4.0), shuffle())
    before = learner.state_dict()["reward_sums"]
    batch = trajectory(1e6)
    batch["weight"].zero_()
    assert learner.update(batch, shuffle()) == ({}, None)
    assert torch.equal(learner.state_dict()["reward_sums"], before)


def test_the_scale_is_saved_and_goes_on() -> None:
    first, _ = made(replace(PLAIN, normalise=True))
    first.update(trajectory(2.0, 4.0), shuffle())
    second, _ = made(replace(PLAIN, normalise=True))
    second.load_state_dict(first.state_dict())
    for learner in (first, second):
        learner.update(trajectory(1.0, 7.0), shuffle())
    assert torch.equal(first.state_dict()["reward_sums"], second.state_dict()["reward_sums"])
    plain, _ = made(PLAIN)
    with pytest.raises(CheckpointError, match="none of changed rewards, wrong are reward_sums"):
        plain.load_state_dict(first.state_dict())


def test_sequences_are_shown_in_their_own_shape() -> None:
    learner, inner = made(replace(PLAIN, largest=1.0))
    parts = trajectory(2.0, 4.0), trajectory(-5.0, 0.5)
    batch = {name: torch.stack([part[name] for part in parts]) for name in parts[0]}
    learner.update(batch, shuffle())
    assert inner.rewards == [[[1.0, 1.0, 0.0], [-1.0, 0.5, 0.0]]]


def test_a_hook_that_returns_something_else_is_told() -> None:
    def wrong(moves: Moves) -> Tensor:
        return moves.reward[:1]

    learner, _ = made(replace(PLAIN, shaping=wrong))
    with pytest.raises(ValueError, match=r"shaping returned \[1\]; allowed is a reward for each move, \[2\]"):
        learner.update(trajectory(1.0, 1.0), shuffle())


def test_workers_share_one_scale() -> None:
    """Each worker's sums are doubled, as if another one had the same rows: means and deviation stay."""
    alone, doubled = made(replace(PLAIN, normalise=True))[0], Remembering()
    both = Rewarded(doubled, spec_of(small_policy()), replace(PLAIN, normalise=True), lambda x: 2 * x)
    expected = alone.update(trajectory(2.0, 4.0), shuffle()).metrics
    assert both.update(trajectory(2.0, 4.0), shuffle()).metrics == pytest.approx(expected)


def test_a_scale_lets_a_policy_learn_from_rewards_of_any_size() -> None:
    """With plain steps of one size the same game in thousandths and in thousands is learned alike."""
    found = []
    for factor in (1e-3, 1e3):
        module = small_policy()
        learner = Rewarded(learner_of(module), spec_of(module), replace(PLAIN, normalise=True), identity)
        batch = ticked(batch_of([tick._replace(reward=tick.reward * factor) for tick in TICKS], module))
        learner.update(batch, shuffle())
        found.append(parameters_of(module))
    torch.testing.assert_close(found[0], found[1], rtol=1e-2, atol=1e-4)
