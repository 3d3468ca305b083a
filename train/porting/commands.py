"""``sparring import-sb3``."""

import re
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from app.errors import ConfigError
from train.porting.archive import read_archive
from train.porting.folder import CONFIG, SERVE, saved_model, write_served
from train.porting.networks import port
from train.porting.normalised import read_statistics
from train.porting.spaces import Seen, given_action, given_observation, read_observation


def import_sb3(
    file: Annotated[Path, typer.Argument(help="What model.save of Stable-Baselines3 wrote, a zip.")],
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write; it must not exist yet.")],
    project: Annotated[
        str | None, typer.Option(help="Name of the project in the config; default: of the folder.")
    ] = None,
    normalise: Annotated[
        Path | None, typer.Option(metavar="NPZ", help="Statistics of VecNormalize as plain arrays; default: none.")
    ] = None,
    observation: Annotated[
        str | None, typer.Option(metavar="JSON", help="What is seen, as a config has it; default: as the file says.")
    ] = None,
    action: Annotated[
        str | None,
        typer.Option(metavar="JSON", help='What is done, likewise: {"choices": 2}; default: as the file says.'),
    ] = None,
) -> None:
    """Turns a policy of Stable-Baselines3 into weights and a config that serve it; nothing is unpickled.

    Raises:
      SparringError: The file cannot be read, its network is none of ours, or the folder cannot be written.
    """
    archive = read_archive(file)
    seen = None if observation is None else given_observation(_json("--observation", observation))
    ported = port(archive, seen, None if action is None else given_action(_json("--action", action)))
    kwargs, tensors = ported.kwargs, ported.tensors
    seen = read_observation(archive.data.get("observation_space")) if seen is None else seen
    if normalise is not None:
        kwargs, tensors = {**kwargs, "normalise": True}, tensors | read_statistics(normalise, seen)
    name = project or re.sub(r"[^a-z0-9_]+", "_", to.absolute().name.lower()).strip("_")
    origin = {"program": "stable-baselines3", "version": archive.version, "file": file.name}
    write_served(to, saved_model(kwargs, tensors), name, origin)
    typer.echo(f"{ported.algorithm} of stable-baselines3 {archive.version}")
    typer.echo(f"observation {kwargs['observation']}, action {kwargs['action']}")
    for note in (*_one_hot_notes(seen), *ported.notes):
        typer.echo(f"note: {note}")
    typer.echo(f"wrote {to / CONFIG}; next: serve run {to / SERVE}")


def _one_hot_notes(seen: Seen | dict[str, Seen]) -> list[str]:
    parts = {"the observation": seen} if isinstance(seen, Seen) else seen
    return [
        f"{name} is sent one-hot, {one.shape[0]} numbers for values of {list(one.one_hot)}"
        for name, one in parts.items()
        if one.one_hot
    ]


def _json(option: str, text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"{option} is {text!r}; allowed is JSON") from error
