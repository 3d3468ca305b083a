"""Columns of a fixed number of slots, written and read many at once."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from app.replay.rows import count
from app.types import Rows

Columns = Mapping[str, tuple[np.dtype[np.generic], tuple[int, ...]]]
"""Dtype and shape of one item in each column."""


class Storage:
    """One array a column; a slot is an index into all of them."""

    def __init__(self, columns: Columns, capacity_rows: int) -> None:
        """Makes the arrays; memory is taken as slots are written.

        Raises:
          ValueError: There is no column, or ``capacity_rows`` < 1.
        """
        if not columns or capacity_rows < 1:
            raise ValueError(f"storage needs a column and a row, got {len(columns)} columns and {capacity_rows} rows")
        self._arrays: Rows = {
            name: np.zeros((capacity_rows, *shape), dtype) for name, (dtype, shape) in columns.items()
        }

    def column(self, name: str) -> NDArray[np.generic]:
        """Returns the array of a column, [capacity, ...].

        Raises:
          ValueError: There is no such column.
        """
        if name not in self._arrays:
            raise ValueError(f"storage has no column {name!r}; allowed are {', '.join(self._arrays)}")
        return self._arrays[name]

    def check(self, rows: Rows) -> int:
        """Returns the number of rows.

        Raises:
          ValueError: The columns are not those of the storage, or differ in length, dtype or shape.
        """
        if rows.keys() != self._arrays.keys():
            raise ValueError(f"rows have the columns {sorted(rows)}, the storage has {sorted(self._arrays)}")
        for name, array in self._arrays.items():
            got = rows[name]
            if got.dtype != array.dtype or got.shape[1:] != array.shape[1:]:
                raise ValueError(
                    f"column {name!r} has rows of {got.dtype} {got.shape[1:]}, "
                    f"the storage takes {array.dtype} {array.shape[1:]}"
                )
        return count(rows)

    def write(self, slots: NDArray[np.integer], rows: Rows) -> None:
        """Writes rows that were checked into distinct slots, [N]."""
        where = _as_slice(slots)
        for name, array in self._arrays.items():
            array[where] = rows[name]

    def gather(self, slots: NDArray[np.integer]) -> Rows:
        """Returns copies of the rows in these slots, [N]."""
        return {name: np.take(array, slots, axis=0) for name, array in self._arrays.items()}


def _as_slice(slots: NDArray[np.integer]) -> NDArray[np.integer] | slice:
    """Returns slots that follow each other as a slice, which is written faster."""
    if len(slots) and int(slots[-1]) - int(slots[0]) == len(slots) - 1 and bool((np.diff(slots) == 1).all()):
        return slice(int(slots[0]), int(slots[-1]) + 1)
    return slots
