"""Named rewards before they are learned from: each has a scale and returns of its own."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from app.algorithms.rewards import Rewarded, RewardSettings
from app.algorithms.shaping import Moves
from app.models.distributions.categorical import Categorical
from app.models.spec import ArraySpec, ModelSpec

from .test_learner import identity, shuffle
from .test_rewards import Remembering, trajectory

SPEC = ModelSpec(ArraySpec((2,)), Categorical(2), rewards=("win", "health"))
PLAIN = RewardSettings(gamma=1.0, gammas=(0.5, 1.0))


def named(win: list[float], health: list[float]) -> dict[str, Tensor]:
    """Returns a batch of one trajectory; a bootstrap row stands behind it."""
    reward = torch.tensor([[*win, 0.0], [*health, 0.0]]).T.contiguous()
    return trajectory(*win) | {"reward": reward}


def made(settings: RewardSettings) -> tuple[Rewarded, Remembering]:
    inner = Remembering()
    return Rewarded(inner, SPEC, settings, identity), inner


def test_rewards_and_returns_are_told_apart_by_name() -> None:
    def doubled(moves: Moves) -> Tensor:
        assert moves.rewards == ("win", "health")
        return moves.reward * torch.tensor([2.0, 1.0])

    learner, inner = made(replace(PLAIN, shaping=doubled, largest=3.0))
    metrics = learner.update(named([1.0, 2.0], [0.0, -4.0]), shuffle()).metrics
    assert inner.rewards == [[[2.0, 0.0], [3.0, -3.0], [0.0, 0.0]]]
    assert (metrics["return/win"], metrics["return_shaped/win"]) == (3.0, 6.0)
    assert (metrics["return/health"], metrics["return_shaped/health"]) == (-4.0, -4.0)
    assert (metrics["reward/health"], metrics["reward_learned/health"]) == (-2.0, -1.5)
    assert "return" not in metrics


def test_each_reward_is_divided_by_the_deviation_of_its_own_sums() -> None:
    learner, inner = made(replace(PLAIN, normalise=True))
    metrics = learner.update(named([2.0, 4.0], [20.0, 40.0]), shuffle()).metrics
    assert metrics["reward_scale/win"] == pytest.approx(1.5)  # Sums 2 and 1 + 4.
    assert metrics["reward_scale/health"] == pytest.approx(20.0)  # Sums 20 and 60: nothing is discounted.
    assert list(inner.rewards[0][0]) == pytest.approx([4 / 3, 1.0])


def test_the_scales_are_saved_and_go_on() -> None:
    first, _ = made(replace(PLAIN, normalise=True))
    first.update(named([2.0, 4.0], [20.0, 40.0]), shuffle())
    second, _ = made(replace(PLAIN, normalise=True))
    second.load_state_dict(first.state_dict())
    told = [one.update(named([1.0, 7.0], [3.0, 3.0]), shuffle()).metrics for one in (first, second)]
    assert told[0] == told[1]


def test_a_hook_returns_each_reward() -> None:
    learner, _ = made(replace(PLAIN, shaping=lambda moves: moves.reward.sum(1)))
    with pytest.raises(ValueError, match=r"shaping returned \[2\]; allowed is a reward for each move, \[2, 2\]"):
        learner.update(named([1.0, 1.0], [0.0, 0.0]), shuffle())


def test_sequences_are_shown_in_their_own_shape() -> None:
    learner, inner = made(replace(PLAIN, largest=1.0))
    parts = named([2.0, 4.0], [-3.0, 0.5]), named([0.0, 0.0], [7.0, 0.0])
    learner.update({name: torch.stack([part[name] for part in parts]) for name in parts[0]}, shuffle())
    first, second = inner.rewards[0]
    assert (first, second) == ([[1.0, -1.0], [1.0, 0.5], [0.0, 0.0]], [[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
