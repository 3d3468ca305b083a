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


class KeptRatings:
    """Keeps the ratings of all players; systems that derive from it move them."""

    def __init__(self, unknown: Rating) -> None:
        """Begins without players.

        Args:
          unknown: Rating of a player of whom nothing is known.
        """
        self._unknown = unknown
        self._kept: dict[PlayerId, Kept] = {}

    def add(self, player: PlayerId, moves: Moves, start: Rating | None = None) -> None:
        """Gives a player a rating, or begins it anew; see ``Ratings``."""
        rating = start or self._unknown
        self._kept[player] = Kept(Rating(rating.mean, 0.0) if moves is Moves.FIXED else rating, moves)

    def add_fixed(self, player: PlayerId, mean: float) -> None:
        """Gives a player a rating that stays."""
        self.add(player, Moves.FIXED, Rating(mean, 0.0))

    def rating(self, player: PlayerId) -> Rating:
        """Returns a rating; see ``Ratings``."""
        return self._kept[player].rating

    def state(self) -> Mapping[PlayerId, Kept]:
        """Returns a copy of all ratings."""
        return dict(self._kept)

    def load(self, state: Mapping[PlayerId, Kept]) -> None:
        """Replaces all ratings."""
        self._kept = dict(state)

    def _move(self, moved: Mapping[PlayerId, Sequence[Rating]]) -> None:
        """Gives each player who is not fixed the mean of the ratings that it has come to; without any it stays."""
        for player, ratings in moved.items():
            moves = self._kept[player].moves
            if ratings and moves is not Moves.FIXED:
                self._kept[player] = Kept(_mean(ratings), moves)


def meets_another(sides: Sequence[Placed]) -> bool:
    """Returns whether there are two players among the sides."""
    return len({side.player for side in sides}) > 1


def _mean(ratings: Sequence[Rating]) -> Rating:
    count = len(ratings)
    return Rating(sum(r.mean for r in ratings) / count, sum(r.deviation for r in ratings) / count)
