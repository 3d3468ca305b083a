"""What a trainer starts from, decided once, by the driver."""

import logging
from dataclasses import dataclass
from pathlib import Path

from app.aside import lay_aside
from app.config.checkpoints import CheckpointsConfig
from app.config.root import ExperimentConfig
from app.errors import CheckpointError
from app.models.checkpoints import (
    CHECKPOINTS,
    LATEST,
    find_checkpoint,
    listed,
    newest_readable,
    trainer_folder,
    whole_checkpoints,
)
from app.stores.model_sources import ModelSources
from train.checkpoint import FILE, load_state

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where a trainer's first weights lie."""

    folder: str
    """Of a checkpoint or another model."""
    whole: bool
    """Go on: Adam's moments, the number of updates and torch's generator too. False takes the weights alone."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What of a config decides how a start treats checkpoints that are there."""

    name: str
    """Folder among the trial's checkpoints."""
    key: str
    """Section of the config, for messages."""
    model: str
    """Model of the config that is trained."""
    settings: CheckpointsConfig


@dataclass(frozen=True, slots=True)
class Plan:
    """How a trainer starts."""

    checkpoints: Path
    """Folder that it saves to."""
    beginning: Beginning | None
    """None draws the weights from the seed."""
    move_aside: bool = False
    """What is in that folder is to be moved aside first."""


def plan(config: ExperimentConfig, trainer: str, home: Path, restore: str | None) -> Plan:
    """Returns how a trainer starts; nothing on disk changes but for a clone of a registered version that is named.

    Args:
      config: Config with the components of its mode.
      trainer: Which.
      home: State root that the service resolved.
      restore: ``latest``, a number of updates, or the name of a model; None does as ``checkpoints.on_existing`` and
        the model's ``checkpoint`` say.

    Raises:
      CheckpointError: What is to be restored is not there or damaged, or checkpoints are there and refused.
      TrackingError: There is no such registered version.
    """
    settings = config.trainers[trainer]
    return plan_of(config, Saved(trainer, f"trainers.{trainer}", settings.model, settings.checkpoints), home, restore)


def plan_of(config: ExperimentConfig, saved: Saved, home: Path, restore: str | None) -> Plan:
    """Returns how whatever saves checkpoints starts; see ``plan``."""
    model, settings = saved.model, saved.settings
    sources, first = ModelSources(config, home), config.models[model].checkpoint
    own = _own_folder(sources, first)
    folder = own or trainer_folder(home / config.run.trial, saved.name)
    if own is None:
        by_number = restore is not None and (restore == LATEST or restore.isdecimal())
        _tell_of_old(folder, wanted=by_number or (restore is None and settings.on_existing != "overwrite"))
    if restore is not None:
        return Plan(folder, _restored(folder, restore, sources, model))
    found = whole_checkpoints(folder)
    if found and settings.on_existing == "refuse":
        raise CheckpointError(
            f"{folder} holds the checkpoints {listed(found)} and {saved.key}.checkpoints.on_existing is refuse; "
            "allowed: resume, reuse or overwrite there, --restore latest, another run.trial, or to move the folder away"
        )
    if found and settings.on_existing != "overwrite":
        return Plan(folder, Beginning(str(_newest(folder)), whole=settings.on_existing == "resume"))
    return Plan(folder, _first(sources, first, model, moved=folder if found else None), move_aside=bool(found))


def move_aside(folder: Path, now_s: float) -> None:
    """Renames a folder of checkpoints, and removes the oldest beyond those that stay aside.

    Raises:
      CheckpointError: It cannot be renamed.
    """
    try:
        target = lay_aside(folder, now_s)
    except OSError as error:
        raise CheckpointError(f"cannot move the checkpoints in {folder} aside: {error}") from error
    _log.info("the checkpoints of an earlier start are now in %s", target)


def _own_folder(sources: ModelSources, first: str | None) -> Path | None:
    """Returns the folder of a trainer that goes on from a trainable clone; None for all others."""
    named = None if first is None else sources.references.clone(first)
    if named is None or named[1].frozen:
        return None
    pool, clone = named
    return pool / clone.id / CHECKPOINTS


def _tell_of_old(folder: Path, *, wanted: bool) -> None:
    """Tells of checkpoints that lie where all trainers of a trial once saved, by an error where they may be wanted."""
    old = whole_checkpoints(folder.parent)
    if not old:
        return
    told = (
        f"{folder.parent} holds the checkpoints {listed(old)} of an earlier version, in no trainer's folder; "
        f"move them to {folder} to go on from them, or away"
    )
    if wanted:
        raise CheckpointError(told)
    _log.warning("%s", told)


def _restored(folder: Path, restore: str, sources: ModelSources, model: str) -> Beginning:
    if restore == LATEST:
        return Beginning(str(_newest(folder)), whole=True)
    if restore.isdecimal():
        found = find_checkpoint(folder, restore)
        load_state(found)
        return Beginning(str(found), whole=True)
    there = sources.folder(restore, model)
    whole = (there / FILE).is_file()
    if whole:
        load_state(there)
    return Beginning(str(there), whole=whole)


def _newest(folder: Path) -> Path:
    found = whole_checkpoints(folder)
    if not found:
        raise CheckpointError(
            f"there is no checkpoint to resume from in {folder}; train without --resume and --restore"
        )
    newest = newest_readable(found, _readable)
    if newest is None:
        raise CheckpointError(
            f"no checkpoint in {folder} can be read: {listed(found)}; restore another with --restore, or move the "
            "folder away to begin anew"
        )
    return newest


def _readable(path: Path) -> Path:
    load_state(path)
    return path


def _first(sources: ModelSources, first: str | None, model: str, moved: Path | None) -> Beginning | None:
    """Returns the first weights that the model's config names.

    Args:
      sources: Where they are looked up.
      first: Their name; None names none.
      model: Model of the config.
      moved: Folder of checkpoints that will not be there any more; None where there is none.
    """
    if first is None:
        return None
    clone = sources.references.clone(first)
    if clone is not None:  # The clone itself, whatever its trainer had made of it.
        return Beginning(str(clone[0] / clone[1].id), whole=False)
    folder = sources.folder(first, model)
    if moved is not None and folder.is_relative_to(moved):
        raise CheckpointError(
            f"models.{model}.checkpoint {first} lies in {moved}, which on_existing: overwrite moves aside; "
            "allowed: on_existing: resume or reuse, or a clone of that checkpoint"
        )
    return Beginning(str(folder), whole=False)
