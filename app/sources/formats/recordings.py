"""Our own recordings: of all that they hold, the rows as they are learned from, bootstrap rows among them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from app.recordings.reading import read_about
from app.recordings.schema import DIST_INPUTS, IS_ROW, STEP_COLUMNS
from app.sources.episodes import episodes
from app.sources.formats.parquet import columns, record_batches
from app.sources.stored import Columns, FileShard, Stored


@dataclass(frozen=True, slots=True)
class RecordingShard(FileShard):
    """One file."""

    def __iter__(self) -> Iterator[Stored]:
        """Returns the episodes of the file.

        Raises:
          SourceError: It is no recording, or one of another version.
        """
        read_about(self.path)
        return episodes(self._pieces(), str(self.path))

    def _pieces(self) -> Iterator[Columns]:
        for batch in record_batches(self.path):
            rows = _rows(batch)
            if rows.num_rows:
                yield columns(rows, self.fields, str(self.path))


def _rows(batch: Any) -> Any:
    """Returns the lines that are rows to learn from, without the columns that are none of theirs."""
    wanted = [n for n in batch.schema.names if n not in STEP_COLUMNS and n.partition("/")[0] != DIST_INPUTS]
    return batch.filter(batch.column(IS_ROW)).select(wanted) if IS_ROW in batch.schema.names else batch
