"""Cuts tables of steps into the episodes that they are made of."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.errors import SourceError
from app.sources.stored import Columns, Stored
from app.types import RowKind

ENDS: Final = ("terminated", "truncated")


def episodes(chunks: Iterable[Columns], where: str) -> Iterator[Stored]:
    """Yields the episodes of a table that comes in pieces.

    An episode ends where ``kind`` names a bootstrap row; without that column, behind a step that is ``terminated`` or
    ``truncated``, where ``episode`` changes, and with the table.

    Args:
      chunks: Pieces of the table in order, with equal columns.
      where: File, for messages.

    Raises:
      SourceError: Nothing tells where episodes end, the columns differ in length, or rows are left behind the last
        bootstrap row.
    """
    held: list[Columns] = []
    first = row = 0
    for chunk in chunks:
        size = _size(chunk, f"{where}, from row {row}")
        if held and size and _changes(held[-1], chunk):
            yield Stored(_joined(held), f"{where}, rows from {first}")
            held, first = [], row
        begin = 0
        for end in (np.flatnonzero(_ended(chunk, where)) + 1).tolist():
            held.append({name: column[begin:end] for name, column in chunk.items()})
            yield Stored(_joined(held), f"{where}, rows from {first}")
            held, first, begin = [], row + end, end
        if begin < size:
            held.append({name: column[begin:] for name, column in chunk.items()})
        row += size
    if held:
        if "kind" in held[-1]:
            raise SourceError(f"{where}: no bootstrap row follows the rows from {first}; the file was cut")
        yield Stored(_joined(held), f"{where}, rows from {first}")


def _size(chunk: Columns, where: str) -> int:
    sizes = {name: len(column) for name, column in chunk.items()}
    if len(set(sizes.values())) > 1:
        raise SourceError(f"{where}: the columns differ in length, got {sizes}")
    return next(iter(sizes.values()), 0)


def _ended(chunk: Columns, where: str) -> NDArray[np.bool_]:
    """Returns whether an episode ends with each row, as far as this piece of the table tells."""
    if "kind" in chunk:
        return np.asarray(chunk["kind"] != RowKind.STEP)
    told = [name for name in (*ENDS, "episode") if name in chunk]
    if not told:
        raise SourceError(
            f"{where}: nothing tells where episodes end, got the columns {', '.join(sorted(chunk))}; needed is one of "
            "terminated, truncated, episode and kind"
        )
    size = len(chunk[told[0]])
    ended = np.zeros(size, bool)
    for name in ENDS:
        if name in chunk:
            ended |= chunk[name].astype(bool)
    if "episode" in chunk and size:
        ended[:-1] |= chunk["episode"][1:] != chunk["episode"][:-1]
    return ended


def _changes(before: Columns, after: Columns) -> bool:
    """Returns whether another episode begins with a piece of the table, by its name alone."""
    return "kind" not in after and "episode" in after and bool(before["episode"][-1] != after["episode"][0])


def _joined(parts: list[Columns]) -> Columns:
    return parts[0] if len(parts) == 1 else {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
