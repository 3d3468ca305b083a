"""Checkpoints of a learner: whole or absent, and which of them are kept."""

import math
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final

import torch
from safetensors import SafetensorError

from app.config.checkpoints import KeepCheckpoints
from app.errors import CheckpointError
from app.models.checkpoints import LEARNER, check_learner, checkpoint_name, digest, newest_readable, whole_checkpoints
from app.models.folders import UNFINISHED, remove_folder, write_folder
from app.models.saved import SavedModel, read_meta, read_model, write_model
from app.replay.ancestry import NO_ANCESTRY, Ancestry, Origin
from app.types import Version
from train.league.following import Period
from train.resume import Progress
from train.retention import Mark, kept
from train.strategies.strategy import TrainedState

__all__ = ["FILE", "UNFINISHED", "Checkpoints", "LearnerState", "load_state"]

SCHEMA_VERSION: Final = 3
FILE: Final = LEARNER


@dataclass(frozen=True, slots=True)
class LearnerState:
    """All that training goes on from."""

    progress: Progress
    updates: int
    """Updates done; batches are shuffled by it, so that a resumed run draws what the uninterrupted one would."""
    generation: int
    spec_hash: str
    run: str
    """The driver's start that wrote it."""
    schema_version: int = SCHEMA_VERSION
    number: int = 0
    """Newest published version of the generation."""
    factory: str = ""
    """What builds the network."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    """What it was measured by when it was written; values that are not finite are left out."""
    positions: Mapping[str, Any] = field(default_factory=dict)
    """How far each input was read, by its name; tensors and numbers, nested."""
    ancestry: Ancestry = NO_ANCESTRY
    """What its generation, and those before it, went on from."""
    period: Period = field(default_factory=Period)
    """Learning period of a league's player; none without a league."""

    def ancestry_of(self, generation: int) -> Ancestry:
        """Returns the ancestry of a generation that goes on from here."""
        return self.ancestry.joined(Ancestry((Origin(generation, Version(self.generation, self.number)),)))

    def check(self, spec_hash: str) -> None:
        """Does nothing where the state fits the network.

        Raises:
          CheckpointError: It is of another network.
        """
        if self.spec_hash != spec_hash:
            raise CheckpointError(
                f"the checkpoint at update {self.updates} is of a network with the shapes {self.spec_hash}; "
                f"the config builds {spec_hash}"
            )


class Checkpoints:
    """A folder with one subfolder a checkpoint, named by generation and update: a later start is always newer."""

    def __init__(self, folder: Path, keep: KeepCheckpoints | None = None) -> None:
        """Keeps the names.

        Args:
          folder: Made when it is needed.
          keep: Which checkpoints stay when another is written; None means the default of the config.
        """
        self._folder = folder
        self._keep = keep or KeepCheckpoints()

    def newest(self) -> Path | None:
        """Returns the newest whole checkpoint; None where there is none."""
        found = whole_checkpoints(self._folder)
        return found[-1] if found else None

    def newest_state(self, run: str | None = None) -> LearnerState | None:
        """Returns the state of the newest checkpoint that can be read; None where there is none.

        Damaged ones are named in the log and passed over.

        Args:
          run: Driver's start that must have written it; None takes any.
        """
        found = whole_checkpoints(self._folder)
        if run is not None:
            found = [path for path in found if _field(path, "run") == run]
        return newest_readable(found, load_state)

    def newest_generation(self) -> int:
        """Returns the generation of the newest checkpoint; 0 where there is none."""
        newest = self.newest()
        return 0 if newest is None else int(newest.name.partition("-")[0])

    def save(self, state: LearnerState) -> Path:
        """Writes a checkpoint, then removes those that no rule keeps.

        Raises:
          CheckpointError: It cannot be written; those before it are as they were.
        """
        before = whole_checkpoints(self._folder)
        name = checkpoint_name(state.generation, state.updates)
        copies = [path for path in before if path.name.partition(".")[0] == name]
        last_copy = int(copies[-1].name.partition(".")[2] or 0) + 1 if copies else 0
        target = self._folder / checkpoint_name(state.generation, state.updates, last_copy)
        ordinal = 1 + max((_ordinal(path) for path in before), default=0)
        try:
            write_folder(target, lambda folder: _write(folder, state, ordinal))
        except (OSError, RuntimeError, SafetensorError) as error:  # torch reports a full disk as a RuntimeError.
            raise CheckpointError(
                f"cannot write checkpoint {target}: {error}; the newest good one is {self.newest() or 'none'}. "
                "Make room on that disk, or set SPARRING_HOME to another"
            ) from error
        for path in copies:  # Of this very update: the newer is whole before the older goes.
            remove_folder(path)
        self._remove_old()
        return target

    def _remove_old(self) -> None:
        found = whole_checkpoints(self._folder)
        marks = [Mark(path.name, _ordinal(path), _field(path, "metrics") or {}) for path in found]
        names = kept(marks, self._keep)
        for path in found:
            if path.name not in names:
                remove_folder(path)
        for path in self._folder.glob(f"{UNFINISHED}*"):  # By writers that were killed.
            shutil.rmtree(path, ignore_errors=True)


def load_state(path: Path) -> LearnerState:
    """Returns the state of a checkpoint.

    Raises:
      CheckpointError: It cannot be read, or is of another schema.
    """
    try:
        learner = read_meta(path)["learner"]
        if learner["schema_version"] != SCHEMA_VERSION:
            raise CheckpointError(
                f"checkpoint {path} has schema version {learner['schema_version']}; allowed is {SCHEMA_VERSION}. Its "
                f"weights alone can be a beginning: models.<name>.checkpoint: {path}"
            )
        check_learner(path)
        saved = read_model(path)
        rest = torch.load(path / FILE, map_location="cpu", weights_only=True)
        return LearnerState(
            progress=_progress(saved, rest),
            updates=learner["updates"],
            generation=learner["generation"],
            spec_hash=saved.spec_hash,
            run=learner["run"],
            number=Version.parse(saved.version).number,
            factory=saved.factory,
            kwargs=saved.kwargs,
            metrics=learner["metrics"],
            positions=rest["positions"],
            ancestry=Ancestry.of_lists(learner.get("ancestry", [])),
            period=Period(**learner.get("period", {})),
        )
    except (OSError, EOFError, RuntimeError, ValueError, KeyError, TypeError, UnpicklingError) as error:
        raise CheckpointError(f"cannot read checkpoint {path}: {type(error).__name__}: {error}") from error


def _write(folder: Path, state: LearnerState, ordinal: int) -> None:
    trained = state.progress.trained
    parts: dict[str, Any] = {part.name: getattr(trained, part.name) for part in fields(trained)}
    if not trained.averages:  # Else the weights beside it are the average, which games play.
        del parts["model"]
    rest = {"trained": parts, "learner": dict(state.progress.learner), "random": list(state.progress.random)}
    torch.save(rest | {"positions": dict(state.positions)}, folder / FILE)
    arrays = {name: x.detach().cpu().numpy() for name, x in trained.published().items()}
    version = str(Version(state.generation, state.number))
    learner = {
        "schema_version": state.schema_version,
        "updates": state.updates,
        "generation": state.generation,
        "run": state.run,
        "ancestry": state.ancestry.as_lists(),
        "period": state.period.as_dict(),
        "ordinal": ordinal,
        "metrics": {name: value for name, value in state.metrics.items() if math.isfinite(value)},
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "sha256": digest(folder / FILE),
    }
    saved = SavedModel(state.factory, state.kwargs, state.spec_hash, version, arrays)
    write_model(folder, saved, {"step": state.updates, "learner": learner})


def _progress(saved: SavedModel, rest: Mapping[str, Any]) -> Progress:
    model = {name: torch.from_numpy(array) for name, array in saved.arrays.items()}
    trained = TrainedState(**({"model": model} | rest["trained"]))
    return Progress(trained, rest["learner"], tuple(rest["random"]))


def _ordinal(path: Path) -> int:
    return int(_field(path, "ordinal") or 0)


def _field(path: Path, name: str) -> Any:
    """Returns a field of a checkpoint's description; None where that is damaged."""
    try:
        return read_meta(path)["learner"].get(name)
    except (CheckpointError, KeyError, AttributeError):
        return None
