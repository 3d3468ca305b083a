"""Finished matches as text, in the manner of PGN, the notation in which chess programs exchange games.

https://www.saremba.de/chessgml/standards/pgn/pgn-complete.htm: a block of tags for each match, and its result.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from app.league.events import Closed, Event, How, Opened
from app.league.matches import Entry, MatchId, match_id
from app.league.payoff import PlayerId
from app.league.state import Played

TWO: Final = 2


@dataclass(frozen=True, slots=True)
class MatchRecord:
    """A finished match."""

    id: MatchId
    ended_s: float
    """When it ended, in Unix seconds."""
    players: tuple[PlayerId, ...]
    """Of each side."""
    periods: tuple[int, ...]
    """Learning period of each side's player."""
    seats: tuple[int, ...]
    scores: tuple[float, ...]
    """The larger one is the better."""
    learner: PlayerId | None
    """Who learned from it; None: nobody."""

    def as_dict(self) -> dict[str, Any]:
        """Returns it as a JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}


def record_of(token: str, played: Played) -> MatchRecord:
    """Returns the record of a finished match of the league that has the token."""
    return _record(token, played.number, played.ended_s, played.entries, played.scores)


class MatchLog:
    """Makes records of a league's events, given in their order."""

    def __init__(self, token: str) -> None:
        """Begins with no open match.

        Args:
          token: Begins the ids of the league's matches.
        """
        self._token = token
        self._open: dict[int, tuple[Entry, ...]] = {}

    def record(self, event: Event) -> MatchRecord | None:
        """Takes an event, and returns the match that it ends; None where it ends none that counts."""
        match event:
            case Opened(number, _, _, entries):
                self._open[number] = entries
            case Closed(number, at_s, how, scores):
                entries = self._open.pop(number, ())
                if how is How.FINISHED and entries:
                    return _record(self._token, number, at_s, entries, scores)
        return None


def as_pgn(record: MatchRecord, event: str = "league") -> str:
    """Returns a match as a block of PGN tags; one of two sides has ``White`` and ``Black``, the first and the second.

    Args:
      record: Of the match.
      event: Name of the event.
    """
    when = datetime.fromtimestamp(record.ended_s, UTC)
    names = ("White", "Black") if len(record.players) == TWO else [f"Side{n + 1}" for n in range(len(record.players))]
    result = result_text(record.scores)
    tags = {
        "Event": event,
        "Site": "sparring",
        "Date": f"{when:%Y.%m.%d}",
        "Round": record.id,
        **dict(zip(names, record.players, strict=True)),
        "Result": result,
        "UTCTime": f"{when:%H:%M:%S}",
        "Scores": " ".join(f"{score:g}" for score in record.scores),
        "Seats": " ".join(map(str, record.seats)),
        "Periods": " ".join(map(str, record.periods)),
        **({} if record.learner is None else {"Learner": record.learner}),
    }
    return "".join(f'[{name} "{_escaped(value)}"]\n' for name, value in tags.items()) + f"\n{result}\n\n"


def result_text(scores: Sequence[float]) -> str:
    """Returns PGN's word for the result of two sides, or ``*`` for other numbers of them, whose scores are a tag."""
    if len(scores) != TWO:
        return "*"
    first, second = scores
    return "1/2-1/2" if first == second else "1-0" if first > second else "0-1"


def _record(
    token: str, number: int, ended_s: float, entries: tuple[Entry, ...], scores: tuple[float, ...]
) -> MatchRecord:
    return MatchRecord(
        id=match_id(token, number),
        ended_s=ended_s,
        players=tuple(entry.player for entry in entries),
        periods=tuple(entry.period for entry in entries),
        seats=tuple(entry.seats for entry in entries),
        scores=scores,
        learner=next((entry.player for entry in entries if entry.learns), None),
    )


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')
