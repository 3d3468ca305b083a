"""Trajectories as files hold them, under our names but with the dtypes and gaps of whoever wrote them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from app.errors import SourceError

Columns = dict[str, NDArray[np.generic]]
"""Values by name, ``observation/units`` where they are nested; a row is a step."""

NEXT_OBSERVATION = "next_observation"
"""Part that holds the state reached by each step."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One trajectory: steps in order."""

    columns: Columns
    """``reward`` has as many rows as there are steps; the observation may have one more, the state reached last.

    Where there is a ``kind``, rows are ours already, the bootstrap row among them.
    """
    where: str
    """File, and the place in it, for messages."""


class Shard(Protocol):
    """Trajectories that can be gone through more than once, each time the same ones in the same order."""

    @property
    def name(self) -> str:
        """What it is called; seeds derive from it, so it does not hold the folder."""

    def __iter__(self) -> Iterator[Stored]:
        """Returns its trajectories from the first one on.

        Raises:
          SourceError: It cannot be read.
        """


@dataclass(frozen=True, slots=True)
class FileShard(ABC):
    """The trajectories of one file."""

    path: Path
    fields: Mapping[str, str]
    """Names of the stored data by the name of our column, where they differ from the format's own."""

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    @abstractmethod
    def __iter__(self) -> Iterator[Stored]:
        """Returns the trajectories of the file; see ``Shard``."""


def flat(nested: Mapping[str, Any], below: str = "") -> dict[str, Any]:
    """Returns the values of nested mappings by their paths, such as ``observation/units``."""
    found: dict[str, Any] = {}
    for key, value in nested.items():
        name = f"{below}/{key}" if below else str(key)
        found |= flat(value, name) if isinstance(value, Mapping) else {name: value}
    return found


def renamed(columns: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    """Returns columns under our names.

    Args:
      columns: By the names as stored.
      fields: Stored name by our name; the columns below a name go with it.
    """
    ours = {stored: name for name, stored in fields.items()}
    found = {}
    for name, column in columns.items():
        part, slash, rest = name.partition("/")
        found[ours.get(name) or f"{ours.get(part, part)}{slash}{rest}"] = column
    return found


def as_array(value: object, where: str, name: str) -> NDArray[np.generic]:
    """Returns a value as an array of numbers.

    Raises:
      SourceError: It holds something else, or rows of several shapes.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise SourceError(f"{where}: {name} has rows of several shapes; allowed is one shape") from error
    if array.dtype.kind not in "biuf":
        raise SourceError(f"{where}: {name} holds {array.dtype}; allowed are numbers and booleans")
    return array
