"""``sparring models``: the clones, checkpoints and registered versions of a trial."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from app.config.load import load
from app.config.root import ExperimentConfig
from app.errors import CheckpointError, ConfigError
from app.home import state_root
from app.models.checkpoints import CHECKPOINTS, checkpoint_facts, trainer_folders, whole_checkpoints
from app.models.lineage import Clone
from app.models.pool import CLONES, Source
from app.stages import Stages
from app.stores.mlflow_store import ModelRegistry, tracking_uri
from app.stores.model_sources import ModelSources
from train.register import register_clone

models = typer.Typer(name="models", help="Lists, sets apart and registers the models of a trial.", no_args_is_help=True)

ConfigFile = Annotated[Path, typer.Option("--config", help="Config file; it names project, trial and tracking store.")]
Overrides = Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override; may be repeated.")]
Json = Annotated[bool, typer.Option("--json", help="Prints JSON.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="Id of a clone, or the beginning of its hash.")]


@models.command("list")
def list_(
    config: ConfigFile,
    set_: Overrides = None,
    registered: Annotated[bool, typer.Option("--registered", help="Also asks MLflow for registered versions.")] = False,
    json_: Json = False,
) -> None:
    """Lists the checkpoints and clones of a trial.

    Raises:
      SparringError: The config cannot be read, a clone is damaged, or MLflow does not answer.
    """
    whole = load(config, set_ or [])
    home = state_root(whole.run.project)
    found: dict[str, list[dict[str, Any]]] = {
        "checkpoints": [
            {"trainer": folder.name, **_facts(path)}
            for folder in trainer_folders(home / whole.run.trial)
            for path in whole_checkpoints(folder)
        ],
        "clones": [asdict(clone) for clone in ModelSources(whole, home).pool.lineage()],
    }
    if registered:
        found["registered"] = _registered(whole, home)
    if json_:
        _write({"folder": str(home / whole.run.trial), **found})
        return
    for name, rows in found.items():
        _print(name, rows)


@models.command()
def show(model: Id, config: ConfigFile, set_: Overrides = None, json_: Json = False) -> None:
    """Shows a clone, what it came from and what came from it.

    Raises:
      SparringError: The config cannot be read, or there is no such clone.
    """
    pool = _sources(load(config, set_ or [])).pool
    lineage = pool.lineage()
    clone = pool.find(model)
    shown = {
        **asdict(clone),
        "folder": str(pool.folder(clone.id)),
        "ancestors": [above.id for above in lineage.ancestors(clone.id)],
        "children": [below.id for below in lineage.children(clone.id)],
        "checkpoints": [path.name for path in whole_checkpoints(pool.folder(clone.id) / CHECKPOINTS)],
    }
    if json_:
        _write(shown)
    else:
        _print("clone", [{"field": name, "value": _text(value)} for name, value in shown.items()])


@models.command("clone")
def clone_(
    what: Annotated[
        str,
        typer.Argument(
            help="A clone's id, checkpoints/latest, checkpoints/<updates>, with several trainers "
            "checkpoints/<trainer>/latest, a folder, or models:/name@alias."
        ),
    ],
    config: ConfigFile,
    set_: Overrides = None,
    frozen: Annotated[
        bool, typer.Option("--frozen/--trainable", help="Never changes, or has a trainer and an optimizer of its own.")
    ] = True,
    model: Annotated[str | None, typer.Option(help="Model of the config that it is of; default: the only one.")] = None,
    json_: Json = False,
) -> None:
    """Sets a model apart under an id of its own.

    Raises:
      SparringError: The config cannot be read, there is no such model, or the clone cannot be written.
    """
    whole = load(config, set_ or [])
    sources = _sources(whole)
    source = sources.read(what if "/" in what else f"{CLONES}/{what}")
    made = sources.pool.clone(source, _model_of(whole, sources, source, model), frozen=frozen)
    if json_:
        _write(asdict(made))
    else:
        sys.stdout.write(f"{CLONES}/{made.id} of {made.origin}, {_kind(made)}\n")


@models.command()
def register(
    model: Id,
    config: ConfigFile,
    set_: Overrides = None,
    alias: Annotated[str, typer.Option(help="Alias that moves to the new version.")] = "challenger",
    rating: Annotated[
        float | None, typer.Option(help="How strong it is, in points of any scale, kept as a tag; default: none.")
    ] = None,
    json_: Json = False,
) -> None:
    """Registers a frozen clone as a version of project.model in MLflow.

    Raises:
      SparringError: The config cannot be read, there is no such clone, it is trainable, or MLflow does not take it.
    """
    whole = load(config, set_ or [])
    pool = _sources(whole).pool
    found = pool.find(model)
    if not found.frozen:
        raise CheckpointError(
            f"clone {found.id} is trainable, its weights may change; register a frozen clone of it: "
            f"sparring models clone {found.id} --frozen"
        )
    pool.read(found.id)  # Else a damaged one would be registered.
    with Stages() as stages:
        stages.tell(f"sending {CLONES}/{found.id} to the registry")
        folder = pool.folder(found.id)
        name, number = register_clone(whole, state_root(whole.run.project), found, folder, alias, rating)
    if json_:
        _write({"name": name, "version": number, "alias": alias, "id": found.id})
    else:
        sys.stdout.write(f"{CLONES}/{found.id} is models:/{name}/{number}, and models:/{name}@{alias}\n")


def _sources(config: ExperimentConfig) -> ModelSources:
    return ModelSources(config, state_root(config.run.project))


def _model_of(config: ExperimentConfig, sources: ModelSources, source: Source, given: str | None) -> str:
    if given is None and source.parent is not None:
        return sources.pool.find(source.parent).model
    known = sorted(config.models)
    if given in known:
        return str(given)
    if given is None and len(known) == 1:
        return known[0]
    raise ConfigError(f"--model is {given or 'not given'}; allowed is one of the config's models: {', '.join(known)}")


def _facts(path: Path) -> dict[str, Any]:
    try:
        return {**checkpoint_facts(path), "damage": None}
    except CheckpointError as error:
        nothing = dict.fromkeys(("generation", "updates", "created_at", "metrics"))
        return {"name": path.name, **nothing, "damage": str(error)}


def _registered(config: ExperimentConfig, home: Path) -> list[dict[str, Any]]:
    registry = ModelRegistry(tracking_uri(config.tracking.mlflow_uri, home), home)
    names = [f"{config.run.project}.{model}" for model in sorted(config.models)]
    return [{"name": name, **asdict(version)} for name in names for version in registry.versions(name)]


def _kind(clone: Clone) -> str:
    return "frozen" if clone.frozen else "trainable"


def _print(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    table = Table(*(rows[0] if rows else ["none"]), title=title)
    for row in rows:
        table.add_row(*(_text(value) for value in row.values()))
    Console().print(table)


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    if isinstance(value, dict):
        return ", ".join(f"{name} {inner}" for name, inner in value.items()) or "-"
    return "-" if value is None else str(value)


def _write(document: object) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
