"""Checks that look at many rows together."""

from collections.abc import Callable
from typing import Final

import numpy as np

from app.checks.bounds import bounds_text
from app.checks.drift_statistics import Floats, bin_counts, quantile_edges
from app.checks.fault import Fault, Flags, Values

ELEMENTS_MAX: Final = 64
"""Elements of a field that are told apart; those of a larger one, such as an image, are thrown together."""

Statistic = Callable[[Floats, Floats], float]
"""Compares the histogram of the reference with that of a window."""


class Saturated:
    """Finds windows in which an element stands at one of its bounds most of the time; see ``FieldChecker``."""

    def __init__(self, low: float | None, high: float | None, tolerance: float, share: float, window_rows: int) -> None:
        """Begins an empty window.

        Args:
          low: Lower bound; None has none.
          high: Upper bound; None has none.
          tolerance: Distance from a bound at which a value still stands there.
          share: Largest allowed share of the values at the bounds.
          window_rows: Rows of a window.
        """
        self._low = -np.inf if low is None else low + tolerance
        self._high = np.inf if high is None else high - tolerance
        self._share, self._window_rows = share, window_rows
        self._allowed = f"at most {share:.0%} of {window_rows} rows at the bounds of {bounds_text(low, high)}"
        self._rows = 0
        self._at_bound: Floats | None = None
        """Rows of the window in which each element stood there, [elements]."""

    def look(self, values: Values, starts: Flags) -> Fault | None:
        """Returns the element that stood at a bound most often, once a window is full; the value is its share."""
        at_bound = (np.less_equal(values, self._low) | np.greater_equal(values, self._high)).sum(
            axis=0, dtype=np.float64
        )
        self._at_bound = at_bound if self._at_bound is None else self._at_bound + at_bound
        self._rows += len(values)
        if self._rows < self._window_rows:
            return None
        shares = self._at_bound / self._rows
        self._rows, self._at_bound = 0, None
        element = int(shares.argmax())
        if shares[element] <= self._share:
            return None
        return Fault(len(values) - 1, element, float(shares[element]), self._allowed)


class Drift:
    """Compares the histogram of each window with that of a reference, element by element; see ``FieldChecker``.

    The bins hold equal shares of the reference. Values that are not finite are left out.
    """

    def __init__(
        self, name: str, statistic: Statistic, limit: float, bins: int, reference_rows: int, window_rows: int
    ) -> None:
        """Begins without a reference: the first rows become it.

        Args:
          name: Of the statistic, for messages.
          statistic: How far two histograms are apart.
          limit: Largest allowed distance.
          bins: Of a histogram.
          reference_rows: Rows of the reference.
          window_rows: Rows of a window.
        """
        self._statistic, self._limit, self._bins = statistic, limit, bins
        self._reference_rows, self._window_rows = reference_rows, window_rows
        self._allowed = f"{name} of at most {limit:g} over {window_rows} rows"
        self._waiting: list[Floats] = []
        self._rows = 0
        self._edges: list[Floats] = []
        """Of each element; empty before there is a reference."""
        self._reference: list[Floats] = []
        self._counts: list[Floats] = []

    def look(self, values: Values, starts: Flags) -> Fault | None:
        """Returns the element that has drifted the farthest, once a window is full; the value is its distance."""
        columns = _columns(values)
        if not self._edges:
            self._waiting.append(columns)
            self._rows += len(values)
            if self._rows >= self._reference_rows:
                self._bin(np.concatenate(self._waiting))
            return None
        self._counts = [
            counts + bin_counts(column[np.isfinite(column)], edges)
            for counts, edges, column in zip(self._counts, self._edges, columns.T, strict=True)
        ]
        self._rows += len(values)
        if self._rows < self._window_rows:
            return None
        found = [self._distance(*pair) for pair in zip(self._reference, self._counts, strict=True)]
        self._rows, self._counts = 0, [np.zeros_like(counts) for counts in self._counts]
        element = int(np.argmax(found))
        if found[element] <= self._limit:
            return None
        return Fault(len(values) - 1, element, found[element], self._allowed)

    def refer(self, values: Values) -> None:
        """Makes rows the reference, [rows, elements], in place of the first that are looked at."""
        self._bin(_columns(values))

    def _bin(self, columns: Floats) -> None:
        """Bins the reference; where an element has no number in it, the rows that follow become it."""
        self._waiting, self._rows = [], 0
        finite = [column[np.isfinite(column)] for column in columns.T]
        if all(len(column) for column in finite):
            self._edges = [quantile_edges(column, self._bins) for column in finite]
            self._reference = [bin_counts(*pair) for pair in zip(finite, self._edges, strict=True)]
            self._counts = [np.zeros_like(counts) for counts in self._reference]

    def _distance(self, reference: Floats, counts: Floats) -> float:
        return self._statistic(reference, counts) if counts.sum() else 0.0


def _columns(values: Values) -> Floats:
    """Returns the elements that are told apart as columns."""
    floats: Floats = values.astype(np.float64)
    if floats.shape[1] <= ELEMENTS_MAX:
        return floats
    return floats.reshape(-1, 1)
