"""First in, first out: each row once, whole trajectories dropped from the old end."""

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.replay.rows import count
from app.replay.supply import Parts, joined
from app.types import RowKind, Rows

SMALLEST_BATCH: Final = 2
"""A step and its bootstrap row."""


@dataclass(slots=True)
class FifoCounts:
    """Rows since the start; inserted = popped + dropped + held."""

    inserted: int = 0
    popped: int = 0
    dropped: int = 0


class Fifo:
    """Rows in arrival order, popped in batches of an exact size.

    A trajectory that does not fit whole into a batch is split: the first part ends in a copy of the row at the
    boundary turned into its bootstrap row (its observation is the state that the part reached), and that row itself
    opens the next batch. So both parts bootstrap and no row is trained twice.

    When more than ``capacity_rows`` are held, whole trajectories leave from the old end, counted, but never
    below ``keep_rows``: what is dropped is only what a full batch can spare.
    """

    def __init__(self, capacity_rows: int, keep_rows: int) -> None:
        """Makes an empty queue.

        Raises:
          ValueError: ``capacity_rows`` < ``keep_rows`` or ``keep_rows`` < 2.
        """
        if not SMALLEST_BATCH <= keep_rows <= capacity_rows:
            raise ValueError(
                f"fifo needs {SMALLEST_BATCH} <= keep_rows <= capacity_rows, got {keep_rows} and {capacity_rows}"
            )
        self._capacity, self._keep = capacity_rows, keep_rows
        self._chunks: deque[Rows] = deque()
        self._offset = 0
        """Rows of the first chunk that are gone already."""
        self._held = 0
        self.counts = FifoCounts()

    def __len__(self) -> int:
        return self._held

    def room_rows(self) -> int:
        """Returns how many rows fit without dropping any."""
        return max(self._capacity - self._held, 0)

    def clear(self) -> None:
        """Drops all rows."""
        self.counts.dropped += self._held
        self._chunks.clear()
        self._offset = self._held = 0

    def insert(self, rows: Rows, *, drop_oldest: bool = True) -> None:
        """Appends trajectories, each ending in its bootstrap row.

        Args:
          rows: Their columns; kept as they are, so nobody may write to them any more.
          drop_oldest: Whether the oldest leave when there are more than the capacity.

        Raises:
          ValueError: The columns differ in length, or the last row is a step.
        """
        size = check_ended(rows)
        if size == 0:
            return
        self._chunks.append(rows)
        self._held += size
        self.counts.inserted += size
        while drop_oldest and self._held > self._capacity and self._drop_oldest():
            pass

    def pop(self, rows: int) -> Rows | None:
        """Returns exactly ``rows`` rows, the oldest, ending in a bootstrap row; None while there are fewer."""
        parts = self.pop_parts(rows)
        return None if parts is None else joined(parts)

    def pop_parts(self, rows: int) -> Parts | None:
        """Returns what ``pop`` does as views of what was inserted; only columns that change are copied."""
        if self._held < rows:
            return None
        parts, missing = [], rows
        while missing:
            first = self._chunks[0]
            end = min(self._offset + missing, len(first["kind"]))
            parts.append({name: column[self._offset : end] for name, column in first.items()})
            missing -= end - self._offset
            self._advance(end - self._offset)
        self.counts.popped += rows
        if parts[-1]["kind"][-1] == RowKind.STEP:
            self._give_back_last(parts[-1])
        return parts

    def _give_back_last(self, part: Rows) -> None:
        """Keeps the last row for the next batch and turns the batch's copy of it into a bootstrap row."""
        self._offset -= 1  # A step is never the last row of its chunk, so that chunk is still the first.
        self._held += 1
        self.counts.popped -= 1
        for name, value in (("kind", int(RowKind.FULL)), ("weight", 0)):
            part[name] = part[name].copy()
            part[name][-1] = value

    def _advance(self, rows: int) -> None:
        self._held -= rows
        self._offset += rows
        if self._offset == len(self._chunks[0]["kind"]):
            self._chunks.popleft()
            self._offset = 0

    def _drop_oldest(self) -> bool:
        """Drops the oldest trajectory, unless a whole batch would not remain."""
        ends = np.flatnonzero(self._chunks[0]["kind"][self._offset :] != RowKind.STEP)
        size = int(ends[0]) + 1
        if self._held - size < self._keep:
            return False
        self._advance(size)
        self.counts.dropped += size
        return True


def check_ended(rows: Rows) -> int:
    """Returns the number of rows.

    Raises:
      ValueError: The columns differ in length, or the last row is a step.
    """
    size = count(rows)
    if size and rows["kind"][-1] == RowKind.STEP:
        raise ValueError("fifo needs a bootstrap row behind each trajectory; the last row is a step")
    return size
