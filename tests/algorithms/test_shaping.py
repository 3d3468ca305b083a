from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from app.algorithms.shaping import Moves, Potential, make_shaping
from app.errors import PluginError

PLACE = "tests.algorithms.test_shaping"


def height(observation: Tensor) -> Tensor:
    """Returns the first number of an observation as its potential."""
    return observation[:, 0]


class Doubled:
    def __init__(self, factor: float = 2.0) -> None:
        self.factor = factor

    def __call__(self, moves: Moves) -> Tensor:
        return moves.reward * self.factor


def nothing() -> None:
    """Returns no hook."""


def moves(heights: list[float], rewards: list[float], *, terminated: bool) -> Moves:
    """Returns the moves of one episode."""
    seen = torch.tensor(heights, dtype=torch.float64)[:, None]
    dead = torch.zeros(len(rewards), dtype=torch.bool)
    dead[-1] = terminated
    reward = torch.tensor(rewards, dtype=torch.float64)
    return Moves(seen[:-1], torch.zeros(len(rewards)), reward, seen[1:], dead)


def test_what_is_gained_in_potential_is_added() -> None:
    potential = Potential(f"{PLACE}:height", 0.5)
    assert potential(moves([1.0, 4.0, 6.0], [0.0, 1.0], terminated=False)).tolist() == [1.0, 0.0]  # 4/2-1, 1+6/2-4
    assert potential(moves([1.0, 4.0, 6.0], [0.0, 1.0], terminated=True)).tolist() == [1.0, -3.0]  # Nothing behind.


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=7), st.booleans())
def test_over_an_episode_the_gains_depend_on_its_ends_alone(heights: list[float], terminated: bool) -> None:
    gamma, rewards = 0.9, [0.0] * (len(heights) - 1)
    shaped = Potential(f"{PLACE}:height", gamma)(moves(heights, rewards, terminated=terminated))
    total = sum(gamma**at * reward for at, reward in enumerate(shaped.tolist()))
    last = 0.0 if terminated else gamma ** len(rewards) * heights[-1]
    assert total == pytest.approx(last - heights[0], abs=1e-9)


def test_a_hook_gets_its_arguments() -> None:
    hook = make_shaping(f"{PLACE}:Doubled", {"factor": 3.0})
    assert hook(moves([0.0, 0.0], [2.0], terminated=True)).tolist() == [6.0]


@pytest.mark.parametrize(
    ("factory", "kwargs", "message"),
    [
        ("PLACE", {}, "is not callable, it is a str"),
        ("Doubled", {"times": 3}, r"cannot be called with \{'times': 3\}"),
        ("nothing", {}, "returned a NoneType, which cannot be called"),
        ("Nobody", {}, "has no 'Nobody'"),
    ],
)
def test_what_is_no_hook_is_refused(factory: str, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(PluginError, match=message):
        make_shaping(f"{PLACE}:{factory}", kwargs)
    with pytest.raises(PluginError, match="is not callable"):
        Potential(f"{PLACE}:PLACE", 0.9)


def test_a_potential_is_added_to_the_reward_that_it_names() -> None:
    one = moves([1.0, 4.0], [0.0], terminated=False)
    named = one._replace(reward=torch.tensor([[3.0, 5.0]]), rewards=("win", "health"))
    assert Potential(f"{PLACE}:height", 0.5, "health")(named).tolist() == [[3.0, 6.0]]  # 5 + 4 / 2 - 1.
    for reward, wrong, allowed in ((None, named, "win, health"), ("gold", named, "win, health"), ("win", one, "null")):
        with pytest.raises(ValueError, match=f"reward of a potential is .*; allowed is {allowed}"):
            Potential(f"{PLACE}:height", 0.5, reward)(wrong)
