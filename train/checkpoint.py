"""Checkpoints of a learner: whole or absent, the newest few kept."""

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final

import torch

from app.errors import CheckpointError

SCHEMA_VERSION: Final = 1
FILE: Final = "learner.pt"
UNFINISHED: Final = ".unfinished-"


@dataclass(frozen=True, slots=True)
class LearnerState:
    """All that training goes on from."""

    model: dict[str, Any]
    optimizer: dict[str, Any]
    updates: int
    """Updates done; batches are shuffled by it, so that a resumed run draws what the uninterrupted one would."""
    generation: int
    random_state: torch.Tensor
    """torch's global generator."""
    spec_hash: str
    run: str
    """The driver's start that wrote it."""
    schema_version: int = SCHEMA_VERSION

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

    def __init__(self, folder: Path, keep: int) -> None:
        self._folder = folder
        self._keep = keep

    def newest(self) -> Path | None:
        """Returns the newest whole checkpoint; None where there is none."""
        found = self._whole()
        return found[-1] if found else None

    def save(self, state: LearnerState) -> Path:
        """Writes a checkpoint, then removes the oldest beyond those kept.

        Raises:
          CheckpointError: It cannot be written; those before it are as they were.
        """
        target = self._folder / f"{state.generation:06d}-{state.updates:010d}"
        unfinished = self._folder / f"{UNFINISHED}{target.name}"
        try:
            unfinished.mkdir(parents=True, exist_ok=True)
            torch.save(asdict(state), unfinished / FILE)
            if target.is_dir():  # Of this very update: a file is replaced whole, a folder would be gone for a moment.
                (unfinished / FILE).replace(target / FILE)
                unfinished.rmdir()
            else:
                unfinished.replace(target)
        except (OSError, RuntimeError) as error:  # torch reports a full disk as a RuntimeError.
            shutil.rmtree(unfinished, ignore_errors=True)
            raise CheckpointError(
                f"cannot write checkpoint {target}: {error}; the newest good one is {self.newest() or 'none'}. "
                "Make room on that disk, or set SPARRING_HOME to another"
            ) from error
        self._remove_old()
        return target

    def _remove_old(self) -> None:
        left_over = list(self._folder.glob(f"{UNFINISHED}*"))  # By writers that were killed.
        for path in [*self._whole()[: -self._keep], *left_over]:
            shutil.rmtree(path, ignore_errors=True)

    def _whole(self) -> list[Path]:
        return sorted(path for path in self._folder.glob("[0-9]*") if (path / FILE).is_file())


def load_state(path: Path) -> LearnerState:
    """Returns the state of a checkpoint.

    Raises:
      CheckpointError: It cannot be read, or is of another schema.
    """
    try:
        raw = torch.load(path / FILE, map_location="cpu", weights_only=True)
        if raw["schema_version"] != SCHEMA_VERSION:
            raise CheckpointError(
                f"checkpoint {path} has schema version {raw['schema_version']}; allowed is {SCHEMA_VERSION}"
            )
        return LearnerState(**raw)
    except (OSError, EOFError, RuntimeError, ValueError, KeyError, TypeError, UnpicklingError) as error:
        raise CheckpointError(f"cannot read checkpoint {path}: {type(error).__name__}: {error}") from error
