"""What a search needs of a game, and of whoever judges its positions."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray


class GamePosition(Protocol):
    """A position of a game of two players who move by turns, where what one wins the other loses.

    It is seen by whoever moves next, all is known of it, and it never changes.
    """

    @property
    def legal(self) -> NDArray[np.bool_]:
        """Returns which actions are allowed, [A]; at least one where the game is not over."""

    @property
    def over(self) -> bool:
        """Tells whether the game is over."""

    @property
    def outcome(self) -> float:
        """Returns what a game that is over brings whoever would move: 1 a win, 0 a draw, -1 a loss."""

    def play(self, action: int, /) -> Self:
        """Returns the position behind a legal action, seen by the other player."""


P = TypeVar("P", bound=GamePosition)


class Evaluation(NamedTuple):
    """What is thought of N positions, each seen by its mover."""

    priors: NDArray[np.floating]
    """How probable each action is to be the best, at least 0, [N, A]; what is not legal is left out of account."""
    values: NDArray[np.floating]
    """Expected outcomes, in [-1, 1], [N]."""


Evaluator = Callable[[Sequence[P]], Evaluation]
"""Judges positions; (p, v) = f(s) in the paper."""


def uniform_evaluation(positions: Sequence[GamePosition]) -> Evaluation:
    """Returns what somebody thinks who knows the rules alone: all actions are alike, and nobody is ahead."""
    return Evaluation(np.array([position.legal for position in positions], np.float64), np.zeros(len(positions)))
