"""Rewards of your own: hooks that a config names by their import path."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, cast

import torch
from torch import Tensor

from app.errors import PluginError
from app.plugins import load_plugin


class Moves(NamedTuple):
    """What was done, in any order; the nested parts are nested like the model's, each leaf [M, …]."""

    observation: Any
    action: Any
    reward: Tensor
    """Reward of the action, float [M]; [M, rewards] where the model names rewards."""
    next_observation: Any
    """The state reached, also where the game ended with it."""
    terminated: Tensor
    """Whether nothing follows, bool [M]."""
    rewards: tuple[str, ...] = ()
    """Names of the columns of ``reward``; none where there is one reward."""


class Shaping(Protocol):
    """Changes rewards."""

    def __call__(self, moves: Moves) -> Tensor:
        """Returns the rewards that are learned from, in the shape of ``moves.reward``."""


class Potential:
    """Adds what a move gained in potential, which leaves the best policy the best one.

    Ng, Harada and Russell (1999), https://dl.acm.org/doi/10.5555/645528.657613: F = γ Φ(s') - Φ(s), and Φ = 0 behind
    the end of a game.
    """

    def __init__(self, potential: str, gamma: float, reward: str | None = None) -> None:
        """Finds the potential.

        Args:
          potential: Import path of a function from an observation, nested like the model's and each leaf [M, …], to its
            potential, float [M].
          gamma: Discount per tick, that of the algorithm, or of the reward's head.
          reward: Which of several rewards it is added to; None where there is one.

        Raises:
          PluginError: There is no such function.
        """
        found = load_plugin(potential)
        if not callable(found):
            raise PluginError(f"{potential!r} is not callable, it is a {type(found).__name__}")
        self._potential = cast("Callable[[Any], Tensor]", found)
        self._gamma = gamma
        self._reward = reward

    def __call__(self, moves: Moves) -> Tensor:
        """Returns rewards and gains.

        Raises:
          ValueError: The model does not name the reward, or names several and none is chosen.
        """
        before, after = self._potential(moves.observation), self._potential(moves.next_observation)
        gain = self._gamma * torch.where(moves.terminated, 0.0, after) - before
        if self._reward is None and not moves.rewards:
            return moves.reward + gain
        if self._reward not in moves.rewards:
            allowed = ", ".join(moves.rewards) or "null"
            raise ValueError(f"reward of a potential is {self._reward!r}; allowed is {allowed}")
        here = torch.tensor([name == self._reward for name in moves.rewards], device=gain.device)
        return moves.reward + gain[:, None] * here


def make_shaping(factory: str, kwargs: Mapping[str, Any]) -> Shaping:
    """Returns the hook that a factory makes of its keyword arguments.

    Raises:
      PluginError: There is no such callable, it takes other arguments, or what it returns cannot be called.
    """
    make = load_plugin(factory)
    if not callable(make):
        raise PluginError(f"{factory!r} is not callable, it is a {type(make).__name__}")
    try:
        shaping = make(**kwargs)
    except TypeError as error:
        raise PluginError(f"{factory!r} cannot be called with {dict(kwargs)}: {error}") from error
    if not callable(shaping):
        raise PluginError(f"{factory!r} returned a {type(shaping).__name__}, which cannot be called")
    return cast("Shaping", shaping)
