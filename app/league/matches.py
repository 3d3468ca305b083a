"""Matches: who sits where, how one ends, and those that are under way."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from app.errors import LeagueError
from app.league.payoff import PlayerId
from app.league.players import Hyperparameters, Weights
from app.types import Purpose

MatchId = str


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a match; all its seats are played by one player."""

    player: PlayerId
    period: int
    """Learning period of the player when the match began."""
    frozen: bool
    """Whether the player never changes."""
    learns: bool
    """Whether the rows of this side are trained on: it is the player whom the match is for."""
    seats: int = 1
    """Agents that the side plays, n of a team of n."""
    weights: Weights | None = None
    """What it plays with; None: the newest that the trainer has published, or none at all where an agent plays."""
    trainer: str | None = None
    """Trainer whose model the weights belong to; None for players that were supplied."""
    agent: str | None = None
    """Agent of the config that plays it; None: the one that the weights belong to."""
    hyperparameters: Hyperparameters | None = None
    """Those of the player's learning period; None where there are none."""


@dataclass(frozen=True, slots=True)
class Match:
    """A game that is to be played."""

    id: MatchId
    sides: tuple[Side, ...]
    purpose: Purpose = Purpose.TRAIN
    """``train``, or ``evaluate``: nobody learns from it."""
    opened_s: float = 0.0
    """When it was handed out, in Unix seconds."""

    @property
    def own(self) -> int:
        """Returns the place of the first side that learns; 0 where none does."""
        return next((place for place, side in enumerate(self.sides) if side.learns), 0)


@dataclass(frozen=True, slots=True)
class Result:
    """How a match ended."""

    scores: tuple[float, ...] = ()
    """A number for each side, of which the larger is the better and equal ones are a draw; empty: it was aborted."""

    @property
    def aborted(self) -> bool:
        """Returns whether it had no end that counts."""
        return not self.scores

    @staticmethod
    def of_ranks(ranks: Sequence[int]) -> "Result":
        """Returns the result of a match by ranks, of which 1 is the best."""
        return Result(tuple(-float(rank) for rank in ranks))


ABORTED = Result()
"""The game crashed, or was given up: nobody has won."""


class Reply(StrEnum):
    """What became of a reported result; in each case it need not be sent again."""

    COUNTED = "counted"
    ABORTED = "aborted"
    """The match is closed, and nothing was counted."""
    DUPLICATE = "duplicate"
    """Its result is there already."""
    LATE = "late"
    """The match had been given up; nothing was counted."""
    UNKNOWN = "unknown"
    """This league never handed out such a match; nothing was counted."""


def pair_score(own: float, other: float) -> float:
    """Returns what a side scores against another: 1 for a win, 0 for a loss, 0.5 for a draw."""
    return 0.5 if own == other else float(own > other)


def match_id(token: str, number: int) -> MatchId:
    """Returns the id of the match of a number, in the league that has the token."""
    return f"{token}-{number}"


def match_number(token: str, wanted: MatchId) -> int | None:
    """Returns the number of a match; None where the id is not one of this league."""
    head, _, number = wanted.rpartition("-")
    return int(number) if head == token and number.isascii() and number.isdecimal() else None


class Entry(NamedTuple):
    """One side of an open match, as far as its result needs it."""

    player: PlayerId
    period: int
    learns: bool
    seats: int


class OpenMatch(NamedTuple):
    """A match under way, as far as its result needs it."""

    entries: tuple[Entry, ...]
    purpose: Purpose
    opened_s: float


class OpenMatches:
    """Matches under way, oldest first; one that takes too long is given up."""

    def __init__(self, matches: Iterable[tuple[int, OpenMatch]] = ()) -> None:
        self._matches: OrderedDict[int, OpenMatch] = OrderedDict(matches)

    def __len__(self) -> int:
        return len(self._matches)

    def __iter__(self) -> Iterator[tuple[int, OpenMatch]]:
        """Yields numbers and matches, oldest first."""
        yield from self._matches.items()

    def __contains__(self, number: object) -> bool:
        return number in self._matches

    def add(self, number: int, match: OpenMatch) -> None:
        """Adds a match."""
        self._matches[number] = match

    def get(self, number: int) -> OpenMatch:
        """Returns a match.

        Raises:
          LeagueError: It is not open.
        """
        if number not in self._matches:
            raise LeagueError(f"match {number} is not open")
        return self._matches[number]

    def close(self, number: int) -> OpenMatch:
        """Takes a match out, and returns it.

        Raises:
          LeagueError: It is not open.
        """
        found = self.get(number)
        del self._matches[number]
        return found

    def overdue(self, now_s: float, timeout_s: float, most: int) -> list[int]:
        """Returns the numbers of those that are to be given up.

        Args:
          now_s: The present, in Unix seconds.
          timeout_s: Seconds that a match may take.
          most: Matches that may be open; the oldest ones beyond are given up.
        """
        found: list[int] = []
        for number, match in self._matches.items():
            if len(self._matches) - len(found) <= most and now_s - match.opened_s <= timeout_s:
                break  # All others are younger.
            found.append(number)
        return found
