"""What a league's folder says of itself, so that it can be read without its config."""

from pathlib import Path
from typing import Final

import orjson

from app.errors import LeagueError
from app.league.journal import segments
from app.league.settings import LeagueSettings

NAME: Final = "league.json"
FORMAT: Final = 1


def write_about(folder: Path, settings: LeagueSettings) -> None:
    """Writes what the events of a folder are read with.

    Raises:
      OSError: It cannot be written.
    """
    told = {
        "format": FORMAT,
        "rating": settings.rating,
        "fix_frozen_ratings": settings.fix_frozen_ratings,
        "decay": settings.decay,
        "prior_games": settings.prior_games,
        "min_games": settings.min_games,
    }
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".{NAME}.unfinished"
    unfinished.write_bytes(orjson.dumps(told, option=orjson.OPT_INDENT_2))
    unfinished.replace(folder / NAME)


def refuse_other_rating(folder: Path, settings: LeagueSettings) -> None:
    """Does nothing where a folder has no league, or one whose players are rated by the same system.

    Raises:
      LeagueError: They are rated by another one, or the folder cannot be read.
    """
    if not (folder / NAME).exists() or not segments(folder):
        return
    found = read_about(folder).rating
    if found != settings.rating:
        raise LeagueError(
            f"the players of {folder} are rated by {found}, and league.rating is {settings.rating}; "
            f"allowed is {found}, or another trial"
        )


def read_about(folder: Path) -> LeagueSettings:
    """Returns settings with which the league of a folder can be read, but not go on.

    Raises:
      LeagueError: There is no league, or it is of another format.
    """
    path = folder / NAME
    if not path.exists() or not segments(folder):
        raise LeagueError(f"there is no league in {folder}; allowed is the folder 'league' of a trial that had one")
    try:
        told = orjson.loads(path.read_bytes())
        if told["format"] != FORMAT:
            raise LeagueError(f"{path} has format {told['format']}; allowed is {FORMAT}")
        return LeagueSettings(
            learners={},
            rating=told["rating"],
            fix_frozen_ratings=bool(told["fix_frozen_ratings"]),
            decay=float(told["decay"]),
            prior_games=float(told["prior_games"]),
            min_games=int(told["min_games"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LeagueError(f"cannot read {path}: {type(error).__name__}: {error}") from error
