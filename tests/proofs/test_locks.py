"""A game in which illegal moves end the game is learned by a policy that masks them."""

from typing import Any

import gymnasium
import pytest
from torch import nn

from app.games.locks.env import Locks

from .conftest import Tell
from .learning import Learning
from .rollouts import MASK, evaluated

pytestmark = [pytest.mark.proof, pytest.mark.fast_proof]


class Unmasked(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Does not say what is allowed."""

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = super().reset(**options)
        return observation, {name: x for name, x in info.items() if name != MASK}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated, truncated, {name: x for name, x in info.items() if name != MASK}


class Made:
    """Makes games and keeps them, so that their illegal moves can be counted."""

    def __init__(self, *, masked: bool = True) -> None:
        self._masked = masked
        self._games: list[Locks] = []

    def __call__(self) -> "gymnasium.Env[Any, Any]":
        self._games.append(Locks())
        return self._games[-1] if self._masked else Unmasked(self._games[-1])

    @property
    def illegal_moves(self) -> int:
        return sum(game.illegal_moves for game in self._games)


def illegal_moves(module: nn.Module, *, masked: bool) -> int:
    """Returns those of 50 greedy games."""
    made = Made(masked=masked)
    evaluated(made, module, 50, seed=3)
    return made.illegal_moves


def test_a_masked_policy_opens_all_locks_in_order_and_never_moves_illegally(told: Tell) -> None:
    made = Made()
    learning = Learning("ppo_locks.yaml", 0, made)
    assert illegal_moves(learning.module, masked=False) > 25  # So the game can be lost.
    proof = told(learning.run(60_000, promising=4.5))
    assert proof.mean_return >= 5.5, proof.line()
    assert made.illegal_moves == 0
    assert illegal_moves(learning.module, masked=True) == 0
