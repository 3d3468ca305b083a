"""What a league goes by, in its folder: it outlives the process that was told of it."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson
from pydantic import ValidationError

from app.config.league import LeagueConfig
from app.errors import LeagueError
from app.files import replace_file
from app.league.players import Weights

NAME: Final = "config.json"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Given:
    """What a league goes by."""

    config: LeagueConfig
    weights: Mapping[str, Weights]
    """What the config's references to weights stand for, by reference."""


def write_given(folder: Path, given: Given) -> None:
    """Writes what the league goes by, whole or not at all.

    Raises:
      LeagueError: It cannot be written.
    """
    told = {"config": given.config.model_dump(mode="json"), "weights": dict(given.weights)}
    try:
        replace_file(folder / NAME, orjson.dumps(told, option=orjson.OPT_INDENT_2))
    except OSError as error:
        raise LeagueError(f"the league's config cannot be written to {folder}: {error}") from error


def read_given(folder: Path) -> Given | None:
    """Returns what was written; None where there is nothing, or that of another version, which is told."""
    path = folder / NAME
    if not path.exists():
        return None
    try:
        told = orjson.loads(path.read_bytes())
        weights = {reference: Weights(**found) for reference, found in told["weights"].items()}
        return Given(LeagueConfig.model_validate(told["config"]), weights)
    except (OSError, ValidationError, ValueError, KeyError, TypeError) as error:
        _log.warning("%s is passed over: %s", path, str(error).partition("\n")[0])
        return None
