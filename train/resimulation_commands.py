"""``sparring resimulate``: recorded games against another model."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from app.config.load import load
from app.errors import RecordingError
from app.recordings.index import find_session, recordings
from app.recordings.reading import Episode, read_episode
from app.resimulation.lines import lines
from train.resimulation import resimulate


def resimulate_command(
    place: Annotated[Path, typer.Argument(metavar="FILE", help="A recording, or a folder of recordings.")],
    against: Annotated[
        str,
        typer.Option(
            help="Alias or number of the registered model, models:/…, a clone, a checkpoint, the folder of a model or "
            "release, an .onnx file, or: untrained."
        ),
    ],
    config: Annotated[Path, typer.Option("--config", help="Config file with the agent that played.")],
    session: Annotated[str | None, typer.Option(help="One session; without it the newest ones.")] = None,
    newest: Annotated[int, typer.Option(help="Most sessions, of the newest files.", min=1)] = 20,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override; may be repeated.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Prints JSON, a line for each session.")] = False,
) -> None:
    """Plays what came in recorded games against another model, and shows where that would act differently.

    Raises:
      SparringError: Config, recording or model cannot be read, or do not fit each other.
    """
    for comparison in resimulate(load(config, set_ or []), _episodes(place, session, newest), against):
        if json_:
            sys.stdout.write(json.dumps(comparison.as_dict()) + "\n")
        else:
            sys.stdout.writelines(f"{line}\n" for line in lines(comparison))


def _episodes(place: Path, session: str | None, newest: int) -> list[Episode]:
    """Returns the sessions that are meant, the newest first where none is named.

    Raises:
      RecordingError: There is none.
    """
    if session is not None:
        return find_session(place, session)
    found = [read_episode(one.path, one.number) for one in recordings(place, newest)]
    if not found:
        raise RecordingError(f"{place} holds no recorded session; allowed is a recording, or a folder of recordings")
    return found
