"""Parquet tables, a row a step."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

from app.errors import SourceError
from app.sources.episodes import episodes
from app.sources.formats.arrow import column_arrays
from app.sources.stored import Columns, FileShard, Stored, renamed

ROWS_AT_ONCE: Final = 4096
"""Rows that are read together: a file may be larger than memory, an episode may not."""


@dataclass(frozen=True, slots=True)
class ParquetShard(FileShard):
    """One file."""

    def __iter__(self) -> Iterator[Stored]:
        """Returns the trajectories of the file."""
        tables = record_batches(self.path)
        return episodes((columns(batch, self.fields, str(self.path)) for batch in tables), str(self.path))


def record_batches(path: Path) -> Iterator[Any]:
    """Yields the table of a file in pieces of ``ROWS_AT_ONCE`` rows.

    Raises:
      SourceError: It is no Parquet file.
    """
    try:
        with parquet.ParquetFile(path) as file:
            yield from file.iter_batches(ROWS_AT_ONCE)
    except (OSError, pa.ArrowInvalid) as error:
        raise SourceError(f"{path}: {error}; allowed is a Parquet file") from error


def columns(batch: Any, fields: Mapping[str, str], where: str) -> Columns:
    """Returns a piece of a table as arrays under our names; columns that hold no numbers are left out."""
    ours = {stored: name for name, stored in fields.items()}
    found: Columns = {}
    for field, column in zip(batch.schema, batch.columns, strict=True):
        found |= column_arrays(ours.get(field.name, field.name), field, column, where)
    return renamed(found, fields)
