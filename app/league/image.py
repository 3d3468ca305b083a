"""A league at one moment, as values that nothing changes any more, and as a file.

The file is a line that names it, checksum and length, what JSON can say, and the payoff's two matrices as they are.
"""

import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from app.errors import LeagueError
from app.files import sync
from app.league.events import player_from
from app.league.matches import Entry, OpenMatch, OpenMatches
from app.league.payoff import PayoffState
from app.league.players import FrozenPlayer, LearningPlayer
from app.league.ratings import Kept, Moves, Rating
from app.league.roster import Roster
from app.league.settings import LeagueSettings
from app.league.state import LeagueState, Played, Tally, new_state
from app.types import Purpose

MAGIC: Final = b"sparring league snapshot 1\n"
HEAD: Final = struct.Struct("<IQ")
"""CRC-32 of all that follows, and the length of the JSON."""
WINS: Final = np.dtype("<f8")
GAMES: Final = np.dtype("<u4")


@dataclass(frozen=True, slots=True)
class Image:
    """All that a state holds."""

    payoff: PayoffState
    told: Mapping[str, Any]
    """The rest, as values that orjson writes."""


def image_of(state: LeagueState) -> Image:
    """Returns an image; it shares nothing with the state that could change."""
    told = {
        "token": state.token,
        "next_number": state.next_number,
        "learning": list(state.roster.learning.values()),
        "frozen": list(state.roster.frozen.values()),
        "away": list(state.roster.away.values()),
        "matches": list(state.matches),
        "ratings": state.ratings.state(),
        "championship": state.championship.as_dict(),
        "tallies": {player: (t.wins, t.draws, t.losses) for player, t in state.tallies.items()},
        "counts": dict(state.counts),
        "turns": dict(state.turns),
        "recent": list(state.recent),
        "expired": list(state.expired),
    }
    return Image(state.payoff.state(), told)


def parts_of(image: Image) -> list[bytes | memoryview]:
    """Returns the parts of an image's file; what is behind one another is the file."""
    told = orjson.dumps({**image.told, "players": image.payoff.players}, default=list)
    parts: list[bytes | memoryview] = [told, _bytes(image.payoff.wins), _bytes(image.payoff.games)]
    return [MAGIC + HEAD.pack(_checksum(parts), len(told)), *parts]


def write_image(path: Path, image: Image) -> None:
    """Writes an image, whole or not at all, and returns once it is on the disk.

    Raises:
      OSError: It cannot be written.
    """
    unfinished = path.with_name(f".{path.name}.unfinished")
    with unfinished.open("wb") as file:
        file.writelines(parts_of(image))
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    sync(path.parent)


def read_image(path: Path, settings: LeagueSettings) -> LeagueState:
    """Returns the state of a league as it was when its image was made; damage is noticed.

    Raises:
      LeagueError: It is missing, damaged or of another format.
    """
    try:
        return state_in(path.read_bytes(), settings)
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        raise LeagueError(f"cannot read the league's snapshot {path}: {type(error).__name__}: {error}") from error


def state_in(data: bytes, settings: LeagueSettings) -> LeagueState:
    """Returns the state of a league that a file holds.

    Raises:
      ValueError, KeyError, TypeError, struct.error: It is damaged or of another format.
    """
    if not data.startswith(MAGIC):
        raise ValueError(f"it begins with {data[: len(MAGIC)]!r}; allowed is {MAGIC!r}")
    checksum, length = HEAD.unpack_from(data, len(MAGIC))
    body = memoryview(data)[len(MAGIC) + HEAD.size :]
    if _checksum([body]) != checksum:
        raise ValueError("its checksum is another one than was written")
    told = orjson.loads(body[:length])
    return _state(_payoff(told["players"], body[length:]), told, settings)


def _payoff(players: list[str], data: memoryview) -> PayoffState:
    count = len(players)
    split = count * count * WINS.itemsize
    wins = np.frombuffer(data[:split], WINS).reshape(count, count)
    games = np.frombuffer(data[split:], GAMES).reshape(count, count)
    return PayoffState(tuple(players), wins.astype(np.float64), games.astype(np.uint32))


def _bytes(array: NDArray[np.generic]) -> memoryview:
    little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    return np.ascontiguousarray(little).reshape(-1).view(np.uint8).data


def _checksum(parts: Iterable[bytes | memoryview]) -> int:
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return checksum


def _state(payoff: PayoffState, told: Mapping[str, Any], settings: LeagueSettings) -> LeagueState:
    state = new_state(settings)
    state.payoff.load(payoff)
    state.ratings.load({player: _kept(*kept) for player, kept in told["ratings"].items()})
    state.championship.load(told["championship"])
    learning = [player for player in map(player_from, told["learning"]) if isinstance(player, LearningPlayer)]
    state.roster = Roster(learning, _frozen(told["frozen"]), _frozen(told["away"]))
    state.token, state.next_number = str(told["token"]), int(told["next_number"])
    state.matches = OpenMatches((number, _open(*match)) for number, match in told["matches"])
    state.tallies = {player: Tally(*tally) for player, tally in told["tallies"].items()}
    state.counts.update(told["counts"])
    state.turns.update(told["turns"])
    state.recent.extend(
        Played(number, ended_s, _entries(entries), tuple(scores)) for number, ended_s, entries, scores in told["recent"]
    )
    state.expired.update(dict.fromkeys(told["expired"]))
    return state


def _frozen(told: list[dict[str, Any]]) -> list[FrozenPlayer]:
    return [player for player in map(player_from, told) if isinstance(player, FrozenPlayer)]


def _kept(rating: Mapping[str, float], moves: str) -> Kept:
    return Kept(Rating(rating["mean"], rating["deviation"]), Moves(moves))


def _open(entries: list[list[Any]], purpose: str, opened_s: float) -> OpenMatch:
    return OpenMatch(_entries(entries), Purpose(purpose), opened_s)


def _entries(entries: list[list[Any]]) -> tuple[Entry, ...]:
    return tuple(Entry(*entry) for entry in entries)
