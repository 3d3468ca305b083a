"""``sparring resimulate``: recorded games against another model."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from app.config.load import load
from app.recordings.index import find_session
from app.recordings.reading import read_episodes
from app.resimulation.lines import lines
from train.resimulation import resimulate


def resimulate_command(
    file: Annotated[Path, typer.Argument(help="A recording; with --session also a folder of recordings.")],
    against: Annotated[
        str,
        typer.Option(
            help="Alias or number of the registered model, models:/…, a clone, a checkpoint, the folder of a model or "
            "release, an .onnx file, or: untrained."
        ),
    ],
    config: Annotated[Path, typer.Option("--config", help="Config file with the agent that played.")],
    session: Annotated[str | None, typer.Option(help="One session; without it all of the file.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override; may be repeated.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Prints JSON, a line for each session.")] = False,
) -> None:
    """Plays what came in recorded games against another model, and shows where that would act differently.

    Raises:
      SparringError: Config, recording or model cannot be read, or do not fit each other.
    """
    episodes = list(read_episodes(file)) if session is None else find_session(file, session)
    for comparison in resimulate(load(config, set_ or []), episodes, against):
        if json_:
            sys.stdout.write(json.dumps(comparison.as_dict()) + "\n")
        else:
            sys.stdout.writelines(f"{line}\n" for line in lines(comparison))
