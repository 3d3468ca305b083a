"""Finds values that do not change any more."""

import numpy as np
from numpy.typing import NDArray

from app.checks.fault import Fault, Flags, Values, fault_at


class Stuck:
    """Counts for how many consecutive rows a value has been the same; see ``FieldChecker``.

    A run may go on over several calls, where the first row of the later one is no start.
    """

    def __init__(self, rows: int, *, each_element: bool) -> None:
        """Begins without a row.

        Args:
          rows: Rows with the same value from which on it is stuck.
          each_element: Whether one element is enough; else all of them stay.
        """
        self._rows = rows
        self._each_element = each_element
        self._last: Values | None = None
        """Newest row, [elements]."""
        self._runs: NDArray[np.intp] | None = None
        """Rows for which it has been the same, by element or for all of them."""

    def look(self, values: Values, starts: Flags) -> Fault | None:
        """Returns the first row at which a run is long enough; each further row of the run is wrong as well."""
        same = self._same(values) & ~starts[:, None]
        if not self._each_element:
            same = np.asarray(same.all(axis=1, keepdims=True))
        runs = self._run_lengths(same)
        self._last, self._runs = values[-1].copy(), runs[-1]
        wrong = runs >= self._rows
        if not wrong.any():
            return None
        return fault_at(np.broadcast_to(wrong, values.shape), values, f"a change within {self._rows} rows")

    def _same(self, values: Values) -> NDArray[np.bool_]:
        """Returns whether each value is that of the row before, [rows, elements]."""
        first = np.zeros((1, values.shape[1]), np.bool_) if self._last is None else (values[:1] == self._last)
        return np.concatenate([first, values[1:] == values[:-1]])

    def _run_lengths(self, same: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Returns for how many rows each value has been the same, itself included."""
        numbers = np.arange(len(same))[:, None]
        changed = np.maximum.accumulate(np.where(same, -1, numbers), axis=0)
        before = np.zeros(same.shape[1], np.intp) if self._runs is None else self._runs
        runs: NDArray[np.intp] = np.where(changed < 0, numbers + 1 + before, numbers - changed + 1)
        return runs
