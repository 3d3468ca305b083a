"""The checkpoints of a trainer as folders: which there are, and which is meant."""

import hashlib
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

from app.errors import CheckpointError
from app.models.saved import META, read_meta

CHECKPOINTS: Final = "checkpoints"
"""Folder of the checkpoints inside a trial's, with a folder for each trainer; or inside a trainable clone's, whose one
trainer has it for itself."""
LATEST: Final = "latest"
"""Word for the newest checkpoint that can be read."""
LEARNER: Final = "learner.pt"
"""File of a checkpoint beside its weights: optimizer state and torch's generator."""
SHOWN: Final = 20
"""Checkpoints listed in an error message."""

Read = TypeVar("Read")

_log = logging.getLogger(__name__)


def checkpoint_name(generation: int, updates: int, copy: int = 0) -> str:
    """Returns the name of a checkpoint's folder: sorted by name is sorted by age.

    Args:
      generation: Of the trainer that wrote it.
      updates: Updates done.
      copy: Checkpoints of that very update before this one.
    """
    return f"{generation:06d}-{updates:010d}" + (f".{copy:02d}" if copy else "")


def updates_of(folder: Path) -> int:
    """Returns the number of updates that a checkpoint's name tells."""
    return int(folder.name.partition("-")[2].partition(".")[0])


def trainer_folder(trial: Path, trainer: str) -> Path:
    """Returns the folder of a trainer's checkpoints inside a trial's."""
    return trial / CHECKPOINTS / trainer


def trainer_folders(trial: Path) -> list[Path]:
    """Returns the folders of all trainers that have saved in a trial, by name; what was moved aside is none."""
    found = (trial / CHECKPOINTS).glob("[a-z]*")
    return sorted(path for path in found if "." not in path.name and path.is_dir())


def whole_checkpoints(folder: Path) -> list[Path]:
    """Returns the checkpoints of a folder whose writing ended, oldest first; they may be damaged since."""
    return sorted(path for path in folder.glob("[0-9]*-[0-9]*") if (path / META).is_file())


def find_checkpoint(folder: Path, wanted: str) -> Path:
    """Returns the checkpoint of a number of updates, of the newest trainer that has one; or that of a folder's name.

    Raises:
      CheckpointError: There is none; the message names those that there are.
    """
    found = whole_checkpoints(folder)
    matching = [path for path in found if path.name == wanted]
    if wanted.isdecimal():
        matching = [path for path in found if updates_of(path) == int(wanted)]
    if not matching:
        raise CheckpointError(f"there is no checkpoint {wanted} in {folder}; there are {listed(found)}")
    return matching[-1]


def newest_readable(found: Iterable[Path], read: Callable[[Path], Read]) -> Read | None:
    """Returns what the newest checkpoint that can be read holds; None where there is none.

    Damaged ones are named in the log and passed over.

    Args:
      found: Checkpoints, oldest first.
      read: Returns what a checkpoint holds, or raises a ``CheckpointError``.
    """
    for path in reversed(list(found)):
        try:
            return read(path)
        except CheckpointError as error:
            _log.warning("a damaged checkpoint is passed over: %s", error)
    return None


def check_learner(folder: Path) -> None:
    """Does nothing where a folder's ``learner.pt`` is what ``model.json`` says, or where it says nothing of one.

    Raises:
      CheckpointError: It is missing or damaged.
    """
    expected = read_meta(folder).get("learner", {}).get("sha256")
    if expected is None:
        return
    try:
        got = digest(folder / LEARNER)
    except OSError as error:
        raise CheckpointError(f"cannot read checkpoint {folder}: {type(error).__name__}: {error}") from error
    if got != expected:
        raise CheckpointError(f"cannot read checkpoint {folder}: {LEARNER} is damaged, its sha256 is another")


def digest(path: Path) -> str:
    """Returns the sha256 of a file.

    Raises:
      OSError: It cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checkpoint_facts(folder: Path) -> dict[str, Any]:
    """Returns what a checkpoint says of itself; its weights are not looked at.

    Raises:
      CheckpointError: Its description is damaged.
    """
    learner = read_meta(folder).get("learner", {})
    facts = {name: learner.get(name) for name in ("generation", "updates", "created_at", "metrics")}
    return {"name": folder.name, **facts}


def listed(found: list[Path]) -> str:
    """Returns the names of checkpoints for a message, newest last."""
    if not found:
        return "none"
    names = ", ".join(path.name for path in found[-SHOWN:])
    return names if len(found) <= SHOWN else f"{names} and {len(found) - SHOWN} older ones"
