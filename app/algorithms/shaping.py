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
    """Reward of the action, float [M]."""
    next_observation: Any
    """The state reached, also where the game ended with it."""
    terminated: Tensor
    """Whether nothing follows, bool [M]."""


class Shaping(Protocol):
    """Changes rewards."""

    def __call__(self, moves: Moves) -> Tensor:
        """Returns the rewards that are learned from, float [M]."""


class Potential:
    """Adds what a move gained in potential, which leaves the best policy the best one.

    Ng, Harada and Russell (1999), https://dl.acm.org/doi/10.5555/645528.657613: F = γ Φ(s') - Φ(s), and Φ = 0 behind
    the end of a game.
    """

    def __init__(self, potential: str, gamma: float) -> None:
        """Finds the potential.

        Args:
          potential: Import path of a function from an observation, nested like the model's and each leaf [M, …], to its
            potential, float [M].
          gamma: Discount per tick, that of the algorithm.

        Raises:
          PluginError: There is no such function.
        """
        found = load_plugin(potential)
        if not callable(found):
            raise PluginError(f"{potential!r} is not callable, it is a {type(found).__name__}")
        self._potential = cast("Callable[[Any], Tensor]", found)
        self._gamma = gamma

    def __call__(self, moves: Moves) -> Tensor:
        """Returns rewards and gains, [M]."""
        before, after = self._potential(moves.observation), self._potential(moves.next_observation)
        return moves.reward + self._gamma * torch.where(moves.terminated, 0.0, after) - before


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
