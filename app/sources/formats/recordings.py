"""Our own recordings: Parquet tables of rows as they are learned from, bootstrap rows among them."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from app.errors import SourceError
from app.sources.formats.parquet import ParquetShard
from app.sources.stored import FileShard, Stored
from app.types import Rows

SCHEMA_VERSION: Final = "1"
KEY: Final = b"sparring.schema_version"
"""Where a file keeps it."""
UNFINISHED: Final = ".part"
"""Ending of a file that is being written."""


@dataclass(frozen=True, slots=True)
class RecordingShard(FileShard):
    """One file."""

    def __iter__(self) -> Iterator[Stored]:
        """Returns the episodes of the file.

        Raises:
          SourceError: It is no recording, or one of another version.
        """
        try:
            found = (parquet.read_schema(self.path).metadata or {}).get(KEY, b"none").decode()
        except (OSError, pa.ArrowInvalid) as error:
            raise SourceError(f"{self.path}: {error}; allowed is a recording") from error
        if found != SCHEMA_VERSION:
            raise SourceError(
                f"{self.path}: the recording's schema version is {found}; allowed is {SCHEMA_VERSION}, or kind parquet"
            )
        return iter(ParquetShard(self.path, self.fields))


def write_recording(path: Path, rows: Rows, about: Mapping[str, str]) -> int:
    """Writes episodes, whole or not at all, and returns the size of the file in bytes.

    Args:
      path: Of the file; its folder is made.
      rows: Columns of ``app.replay.rows``, each episode with its bootstrap row.
      about: What else the file tells of itself.

    Raises:
      OSError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {name: _column(column) for name, column in rows.items()}
    told = {f"sparring.{key}": value for key, value in about.items()} | {KEY.decode(): SCHEMA_VERSION}
    table = pa.table(columns).replace_schema_metadata(told)
    unfinished = path.with_name(path.name + UNFINISHED)
    parquet.write_table(table, unfinished, compression="zstd")
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    unfinished.replace(path)
    return path.stat().st_size


def remove_oldest(folder: Path, begins: str, max_bytes: float) -> int:
    """Removes the files whose names sort first until the others are small enough, and returns how many.

    Args:
      folder: Where they lie.
      begins: How their names begin; others stay.
      max_bytes: What the rest may take; the newest stays in any case.
    """
    files = sorted(path for path in folder.glob("*.parquet") if path.name.startswith(begins))
    sizes = {path: _size(path) for path in files}
    total, removed = sum(sizes.values()), 0
    for path in files[:-1]:
        if total <= max_bytes:
            break
        path.unlink(missing_ok=True)  # Another replica may have been faster.
        total -= sizes[path]
        removed += 1
    return removed


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _column(column: Any) -> Any:
    return column if column.ndim == 1 else pa.FixedShapeTensorArray.from_numpy_ndarray(np.ascontiguousarray(column))
