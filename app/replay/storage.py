"""Columns of a fixed number of slots, written and read many at once."""

import numpy as np
from numpy.typing import NDArray

from app.replay.rows import Columns, check_columns
from app.types import Rows


class Storage:
    """One array a column; a slot is an index into all of them."""

    def __init__(self, columns: Columns, capacity_rows: int) -> None:
        """Makes the arrays; memory is taken as slots are written.

        Raises:
          ValueError: There is no column, or ``capacity_rows`` < 1.
        """
        if not columns or capacity_rows < 1:
            raise ValueError(f"storage needs a column and a row, got {len(columns)} columns and {capacity_rows} rows")
        self._columns = columns
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
        return check_columns(rows, self._columns)

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
