"""A league at one moment, as values that nothing changes any more, and as a file."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
import orjson

from app.errors import LeagueError
from app.league.events import player_from
from app.league.journal import sync_folder
from app.league.matches import Entry, OpenMatch, OpenMatches
from app.league.payoff import PayoffState
from app.league.players import FrozenPlayer, LearningPlayer
from app.league.ratings import Kept, Moves, Rating
from app.league.roster import Roster
from app.league.settings import LeagueSettings
from app.league.state import LeagueState, Played, Tally, new_state
from app.types import Purpose

FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Image:
    """All that a state holds."""

    payoff: PayoffState
    told: Mapping[str, Any]
    """The rest, as values that orjson writes."""


def image_of(state: LeagueState) -> Image:
    """Returns an image; it shares nothing with the state that could change."""
    told = {
        "format": FORMAT,
        "token": state.token,
        "next_number": state.next_number,
        "learning": list(state.roster.learning.values()),
        "frozen": list(state.roster.frozen.values()),
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


def write_image(path: Path, image: Image) -> None:
    """Writes an image, whole or not at all, and returns once it is on the disk.

    Raises:
      OSError: It cannot be written.
    """
    told = orjson.dumps({**image.told, "players": image.payoff.players}, default=list)
    unfinished = path.with_name(f".{path.name}.unfinished")
    with unfinished.open("wb") as file:
        rest = np.frombuffer(told, np.uint8)
        np.savez(file, allow_pickle=False, wins=image.payoff.wins, games=image.payoff.games, told=rest)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    sync_folder(path.parent)


def read_image(path: Path, settings: LeagueSettings) -> LeagueState:
    """Returns the state of a league as it was when its image was made; damage is noticed.

    Raises:
      LeagueError: It is missing, damaged or of another format.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            told = orjson.loads(file["told"].tobytes())
            if told["format"] != FORMAT:
                raise LeagueError(f"{path} has format {told['format']}; allowed is {FORMAT}")
            payoff = PayoffState(tuple(told["players"]), file["wins"], file["games"])
            return _state(payoff, told, settings)
    except (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile) as error:
        raise LeagueError(f"cannot read the league's snapshot {path}: {type(error).__name__}: {error}") from error


def _state(payoff: PayoffState, told: Mapping[str, Any], settings: LeagueSettings) -> LeagueState:
    state = new_state(settings)
    state.payoff.load(payoff)
    state.ratings.load({player: _kept(*kept) for player, kept in told["ratings"].items()})
    state.championship.load(told["championship"])
    learning = [player for player in map(player_from, told["learning"]) if isinstance(player, LearningPlayer)]
    frozen = [player for player in map(player_from, told["frozen"]) if isinstance(player, FrozenPlayer)]
    state.roster = Roster(learning, frozen)
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


def _kept(rating: Mapping[str, float], moves: str) -> Kept:
    return Kept(Rating(rating["mean"], rating["deviation"]), Moves(moves))


def _open(entries: list[list[Any]], purpose: str, opened_s: float) -> OpenMatch:
    return OpenMatch(_entries(entries), Purpose(purpose), opened_s)


def _entries(entries: list[list[Any]]) -> tuple[Entry, ...]:
    return tuple(Entry(*entry) for entry in entries)
