"""The table of one shard as a file."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zipfile import BadZipFile

import numpy as np

from app.errors import CheckpointError
from app.types import Arrays

ABOUT: Final = "about"
"""Name of the description among the arrays of a file."""
FORMAT: Final = 1

Form = Mapping[str, str]
"""What two tables must have in common for one to take over the other, by name."""


@dataclass(frozen=True, slots=True)
class About:
    """What a file says of its table."""

    form: Form
    origin: str
    """Of the table: the same in all of its files, and another for a table that began empty in another process."""


def write_table(path: Path, about: About, state: Arrays) -> None:
    """Writes a table, and returns once it is on disk.

    Raises:
      OSError: It cannot be written.
    """
    told = json.dumps({"format": FORMAT, "form": dict(about.form), "origin": about.origin}).encode()
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **{ABOUT: np.frombuffer(told, np.uint8)}, **state)
        file.flush()
        os.fsync(file.fileno())


def read_about(path: Path) -> About:
    """Returns what a file says of its table; its rows are not looked at.

    Raises:
      CheckpointError: It is missing, damaged or of another format.
    """
    return _about(path, _read(path, only=ABOUT))


def read_table(path: Path) -> Arrays:
    """Returns the state of a table; what was damaged since it was written is noticed.

    Raises:
      CheckpointError: It is missing or damaged.
    """
    return {name: array for name, array in _read(path).items() if name != ABOUT}


def difference(saved: Form, own: Form) -> str | None:
    """Returns what keeps a table from taking over a saved one; None where nothing does."""
    found = [
        f"{name} is {saved.get(name, 'not told')}, here {own.get(name, 'not known')}"
        for name in sorted(saved.keys() | own.keys())
        if saved.get(name) != own.get(name)
    ]
    return "; ".join(found) or None


def _read(path: Path, only: str | None = None) -> Arrays:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in (file.files if only is None else [only])}
    except (OSError, EOFError, ValueError, KeyError, BadZipFile) as error:
        raise CheckpointError(f"cannot read the table {path}: {type(error).__name__}: {error}") from error


def _about(path: Path, arrays: Arrays) -> About:
    try:
        told = json.loads(arrays[ABOUT].tobytes())
        if told["format"] != FORMAT:
            raise CheckpointError(f"the table {path} has format {told['format']}; allowed is {FORMAT}")
        return About(dict(told["form"]), str(told["origin"]))
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"cannot read the table {path}: {type(error).__name__}: {error}") from error
