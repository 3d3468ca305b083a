import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from app.algorithms.both_rewards import BothRewards
from app.types import RowKind

STEP, FULL, TERMINATED, TRUNCATED, LOST = RowKind


def rows(kinds: list[RowKind], rewards: list[float], first: int = 0, episode: int = 1) -> dict[str, Tensor]:
    """Returns one trajectory, which begins at some tick of its episode."""
    return {
        "episode": torch.full((len(kinds),), episode),
        "tick": torch.arange(first, first + len(kinds)),
        "kind": torch.tensor([int(kind) for kind in kinds], dtype=torch.int8),
        "reward": torch.tensor(rewards),
        "weight": torch.tensor([float(kind is STEP) for kind in kinds]),
    }


def test_rewards_are_means_of_rows_and_returns_of_episodes_that_ended() -> None:
    both = BothRewards("own", lambda x: x)
    told = both.told(rows([STEP, STEP, FULL], [1.0, 3.0, 9.0]), torch.tensor([10.0, 20.0, 0.0]))
    assert told == {"reward": 2.0, "reward_own": 15.0}
    told = both.told(rows([STEP, TERMINATED], [5.0, 9.0], first=2), torch.tensor([-1.0, 0.0]))
    assert told == {"reward": 5.0, "reward_own": -1.0, "return": 9.0, "return_own": 29.0}


def test_workers_tell_means_over_all_of_them() -> None:
    other = torch.tensor([3.0, 9.0, 30.0, 1.0, 5.0, 7.0], dtype=torch.float64)  # Its rows, rewards and returns.
    told = BothRewards("own", lambda x: x + other).told(rows([STEP, TERMINATED], [1.0, 0.0]), torch.tensor([2.0, 0.0]))
    assert told == {"reward": 10 / 4, "reward_own": 32 / 4, "return": 6 / 2, "return_own": 9 / 2}


def test_rows_that_do_not_count_are_part_of_returns_alone() -> None:
    batch = rows([STEP, STEP, TERMINATED], [1.0, 3.0, 0.0])
    batch["weight"][0] = 0
    told = BothRewards("own", lambda x: x).told(batch, torch.tensor([1.0, 1.0, 0.0]))
    assert told == {"reward": 3.0, "reward_own": 1.0, "return": 4.0, "return_own": 2.0}


def test_without_rows_nothing_is_told() -> None:
    batch = rows([LOST, LOST], [0.0, 0.0])
    assert BothRewards("own", lambda x: x).told(batch, torch.zeros(2)) == {}


@given(st.lists(st.floats(-10, 10, width=32), min_size=2, max_size=8), st.integers(1, 7))
def test_where_an_episode_is_cut_does_not_change_its_return(rewards: list[float], cut: int) -> None:
    cut = min(cut, len(rewards) - 1)
    whole, pieces = BothRewards("own", lambda x: x), BothRewards("own", lambda x: x)
    ended = whole.told(rows([STEP] * len(rewards) + [TRUNCATED], [*rewards, 0.0]), torch.zeros(len(rewards) + 1))
    pieces.told(rows([STEP] * cut + [FULL], [*rewards[:cut], 0.0]), torch.zeros(cut + 1))
    left = rewards[cut:]
    last = pieces.told(rows([STEP] * len(left) + [TRUNCATED], [*left, 0.0], cut), torch.zeros(len(left) + 1))
    assert last["return"] == pytest.approx(ended["return"], abs=1e-4)
