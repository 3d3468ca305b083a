"""What happens in a league: each change of it is one event, which can be written down and repeated."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

import orjson

from app.errors import LeagueError
from app.league.matches import Entry
from app.league.players import FrozenPlayer, LearningPlayer, Player, Role, Weights
from app.types import Purpose


class How(StrEnum):
    """How a match ended."""

    FINISHED = "finished"
    ABORTED = "aborted"
    EXPIRED = "expired"
    """It took too long, or too many were open."""


@dataclass(frozen=True, slots=True)
class Began:
    """The league began to be."""

    token: str
    """Begins the ids of its matches, so that no other league's are taken for them."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A player came, or a learning one is another now."""

    player: Player
    anew: bool = False
    """Whether it has the weights of somebody else now, so that its results say nothing about it."""


@dataclass(frozen=True, slots=True)
class Left:
    """A player is no longer in the config, or nobody can play it: it is met no more."""

    player: str


@dataclass(frozen=True, slots=True)
class Opened:
    """A match was handed out."""

    number: int
    at_s: float
    purpose: Purpose
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Closed:
    """A match is over."""

    number: int
    at_s: float
    how: How
    scores: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Froze:
    """A learning player was frozen, and goes on as another."""

    frozen: FrozenPlayer
    learning: LearningPlayer
    anew: bool
    """Whether it goes on with weights of somebody else, so that its results say nothing about it."""


@dataclass(frozen=True, slots=True)
class Turned:
    """A trainer turned from one of its players to another."""

    trainer: str
    leaving: LearningPlayer
    entering: LearningPlayer


Event = Began | Joined | Left | Opened | Closed | Froze | Turned

NAMES: Final[Mapping[type[Event], str]] = {
    Began: "began",
    Joined: "joined",
    Left: "left",
    Opened: "opened",
    Closed: "closed",
    Froze: "froze",
    Turned: "turned",
}


def to_bytes(event: Event) -> bytes:
    """Returns an event as JSON."""
    match event:
        case Opened(number, at_s, purpose, entries):
            told: Mapping[str, object] = {
                "n": number,
                "t": at_s,
                "p": purpose,
                "s": [tuple(entry) for entry in entries],
            }
        case Closed(number, at_s, how, scores):
            told = {"n": number, "t": at_s, "h": how, "s": scores}
        case _:
            told = asdict(event)
    return orjson.dumps({"e": NAMES[type(event)], **told})


def from_bytes(data: bytes) -> Event:
    """Returns the event that was written.

    Raises:
      LeagueError: It is none.
    """
    try:
        told = orjson.loads(data)
        return _event(told.pop("e"), told)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LeagueError(f"no event of a league: {type(error).__name__}: {error}") from error


def player_from(told: Mapping[str, Any]) -> Player:
    """Returns the player that was written.

    Raises:
      ValueError, KeyError, TypeError: It is none.
    """
    weights = None if told["weights"] is None else Weights(**told["weights"])
    role = None if told["role"] is None else Role(told["role"])
    known = {**told, "weights": weights, "role": role}
    return LearningPlayer(**known) if "initial" in told else FrozenPlayer(**known)


def _event(name: str, told: dict[str, Any]) -> Event:
    match name:
        case "opened":
            entries = tuple(Entry(*entry) for entry in told["s"])
            return Opened(told["n"], told["t"], Purpose(told["p"]), entries)
        case "closed":
            return Closed(told["n"], told["t"], How(told["h"]), tuple(told["s"]))
    return _seldom(name, told)


def _seldom(name: str, told: dict[str, Any]) -> Event:
    match name:
        case "joined":
            return Joined(player_from(told["player"]), told["anew"])
        case "froze":
            return Froze(_frozen(told["frozen"]), _learning(told["learning"]), told["anew"])
        case "turned":
            return Turned(told["trainer"], _learning(told["leaving"]), _learning(told["entering"]))
        case "left":
            return Left(told["player"])
        case "began":
            return Began(told["token"])
    raise ValueError(f"unknown kind {name!r}")


def _learning(told: Mapping[str, Any]) -> LearningPlayer:
    player = player_from(told)
    if not isinstance(player, LearningPlayer):
        raise TypeError(f"player {player.id!r} is frozen")
    return player


def _frozen(told: Mapping[str, Any]) -> FrozenPlayer:
    player = player_from(told)
    if not isinstance(player, FrozenPlayer):
        raise TypeError(f"player {player.id!r} learns")
    return player
