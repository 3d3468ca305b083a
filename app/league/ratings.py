"""How strong players are: ratings that follow results, with how far they may be off."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from app.league.payoff import PlayerId


class Moves(StrEnum):
    """Why a rating changes."""

    LEARNS = "learns"
    """The player changes, and its rating follows."""
    FROZEN = "frozen"
    """The player stays as it is; its rating comes closer to the truth."""
    FIXED = "fixed"
    """It does not: others are measured by it."""


@dataclass(frozen=True, slots=True)
class Rating:
    """A strength and its uncertainty, in the points of its system."""

    mean: float
    deviation: float
    """Standard deviation of the error; 0 for a rating that is fixed."""


class Kept(NamedTuple):
    """One rating as it is kept."""

    rating: Rating
    moves: Moves


class Placed(NamedTuple):
    """A side of a match that is over."""

    player: PlayerId
    score: float
    """The larger one is the better; equal ones are a draw."""


class Ratings(Protocol):
    """A rating system and the ratings of all players."""

    def add(self, player: PlayerId, moves: Moves, start: Rating | None = None) -> None:
        """Gives a player a rating, or begins it anew.

        Args:
          player: Whose.
          moves: Why it changes; a fixed one is certain, whatever ``start`` says.
          start: What it begins with; None: what an unknown player has.
        """

    def add_fixed(self, player: PlayerId, mean: float) -> None:
        """Gives a player a rating that stays."""

    def record(self, sides: Sequence[Placed]) -> None:
        """Moves the ratings of those who met; sides of one player say nothing about each other.

        Raises:
          KeyError: A player is unknown.
        """

    def rating(self, player: PlayerId) -> Rating:
        """Returns a rating.

        Raises:
          KeyError: The player is unknown.
        """

    def expected(self, player: PlayerId, opponents: Sequence[PlayerId]) -> NDArray[np.float64]:
        """Returns what a player is expected to score against each opponent, in (0, 1), [N].

        Raises:
          KeyError: A player is unknown.
        """

    def state(self) -> Mapping[PlayerId, Kept]:
        """Returns a copy of all ratings."""

    def load(self, state: Mapping[PlayerId, Kept]) -> None:
        """Replaces all ratings."""


def meets_another(sides: Sequence[Placed]) -> bool:
    """Returns whether there are two players among the sides."""
    return len({side.player for side in sides}) > 1
