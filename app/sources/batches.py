"""Packs trajectories into batches of an exact number of rows."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from app.sources.position import START, Position
from app.sources.reader import Reader
from app.types import RowKind, Rows


class Batch(NamedTuple):
    """Rows, and where the next ones stand."""

    rows: Rows
    position: Position
    """Of the row behind the batch."""


def batches(reader: Reader, batch_rows: int, begin: Position = START) -> Iterator[Batch]:
    """Yields batches of exactly ``batch_rows`` rows, the last of which is a bootstrap row.

    A trajectory that does not fit is cut: the row at the cut is the bootstrap row of the first part, and opens the
    second one. So each step is learned from once an epoch. Only where the source ends, the last batch is filled up
    with rows of weight 0.

    Args:
      reader: Of one worker.
      batch_rows: At least 2, a step and its bootstrap row.
      begin: As a batch before it has told; the rows are those that would have followed it.

    Raises:
      SourceError: As ``Reader.trajectories``.
      ValueError: ``batch_rows`` < 2.
    """
    if batch_rows < 2:  # noqa: PLR2004  # As the docstring says.
        raise ValueError(f"a batch has at least 2 rows, got {batch_rows}")
    parts: list[Rows] = []
    missing = batch_rows
    at = begin
    for at, rows in reader.trajectories(begin):
        size, start = len(rows["kind"]), at.offset
        while start < size:
            part, start = _cut(rows, start, missing)
            parts.append(part)
            missing -= len(part["kind"])
            if not missing:
                behind = at._replace(offset=start) if start < size else _after(at)
                yield Batch(_joined(parts), behind)
                parts, missing = [], batch_rows
    if parts:
        yield Batch(_joined([*parts, _padding(parts[-1], missing)]), Position(at.epoch + 1, 0, 0, 0))


def _cut(rows: Rows, start: int, most: int) -> tuple[Rows, int]:
    """Returns at most so many rows of a trajectory, ending in a bootstrap row, and the first row of the rest."""
    size = len(rows["kind"])
    end = min(start + most, size)
    part = {name: column[start:end] for name, column in rows.items()}
    if part["kind"][-1] != RowKind.STEP:
        return part, end
    for name, value in (("kind", RowKind.FULL), ("weight", 0)):
        part[name] = part[name].copy()
        part[name][-1] = value
    return part, end - 1


def _after(at: Position) -> Position:
    return at._replace(trajectories=at.trajectories + 1, offset=0)


def _joined(parts: list[Rows]) -> Rows:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _padding(like: Rows, rows: int) -> Rows:
    """Returns rows that nobody learns from: copies of the last one."""
    padding = {name: np.repeat(column[-1:], rows, axis=0) for name, column in like.items()}
    padding["weight"][:] = 0
    padding["kind"][:] = RowKind.LOST
    return padding
