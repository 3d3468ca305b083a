"""What many values say together, such that two summaries merge into that of all values."""

import math
import sys
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from datasketches import kll_doubles_sketch
from numpy.typing import NDArray

EXACT_MAX: Final = 128
"""Values that are kept as they are: their quantiles are exact, and most series of a short window have fewer."""
SKETCH_K: Final = 400
"""Size of the sketch: the rank of a quantile is off by at most 0.7 %, in 99 of 100 cases, for 8 KiB."""
LARGEST: Final = 1e300
"""Largest magnitude of a value: whatever is larger would make the sum infinite sooner or later."""
BINS: Final = 20
"""Bins of a histogram whose metric names no bounds."""
_BULK: Final = 32
"""Values from which on numpy is faster than a loop."""


class Summary:
    """Count, sum, bounds and distribution of the finite values of one series, and how many were not finite."""

    __slots__ = ("_sketch", "_values", "bounds", "buckets", "count", "last", "max", "min", "not_finite", "sum")

    def __init__(self, bounds: Sequence[float] | None = ()) -> None:
        """Makes an empty one.

        Args:
          bounds: Upper bounds of the histogram's buckets, ascending; the last bucket has none. Empty: no buckets. None:
            the distribution is not kept at all.
        """
        self.bounds = None if bounds is None else tuple(bounds)
        self.count = 0
        self.sum = 0.0
        self.min = math.inf
        self.max = -math.inf
        self.last = math.nan
        """Newest value."""
        self.not_finite = 0
        """Values that were NaN, infinite, or beyond ``LARGEST``; they are counted here alone."""
        self.buckets = [0] * (len(self.bounds) + 1) if self.bounds else []
        """Values up to each bound, and beyond the last one."""
        self._values: list[float] = []
        self._sketch: kll_doubles_sketch | None = None

    def add(self, values: Sequence[float]) -> None:
        """Takes values, oldest first."""
        if len(values) < _BULK:
            self._add_few([float(value) for value in values if -LARGEST <= value <= LARGEST], len(values))
        else:
            array = np.asarray(values, np.float64)
            self._add_many(array[np.abs(array) <= LARGEST], len(values))  # Comparing with NaN is false.

    def _add_few(self, finite: list[float], given: int) -> None:
        self.not_finite += given - len(finite)
        if not finite:
            return
        self._take(len(finite), math.fsum(finite), min(finite), max(finite), finite[-1])
        if self.bounds:
            for value in finite:
                self.buckets[bisect_left(self.bounds, value)] += 1
        if self.bounds is not None:
            self._rank(finite)

    def _add_many(self, finite: NDArray[np.float64], given: int) -> None:
        self.not_finite += given - len(finite)
        if not len(finite):
            return
        self._take(len(finite), float(finite.sum()), float(finite.min()), float(finite.max()), float(finite[-1]))
        if self.bounds:
            at = np.searchsorted(np.asarray(self.bounds), finite, side="left")
            found = np.bincount(at, minlength=len(self.buckets)).tolist()
            self.buckets = [old + new for old, new in zip(self.buckets, found, strict=True)]
        if self.bounds is not None:
            self._rank(finite)

    def merge(self, other: "Summary") -> None:
        """Takes what another one has seen; its newest value counts as newer than ours.

        Raises:
          ValueError: The bounds of its buckets are others.
        """
        if self.bounds != other.bounds:
            raise ValueError(
                f"summaries with bounds {self.bounds} and {other.bounds} do not merge; allowed are equal ones"
            )
        self.not_finite += other.not_finite
        if not other.count:
            return
        self._take(other.count, other.sum, other.min, other.max, other.last)
        self.buckets = [mine + theirs for mine, theirs in zip(self.buckets, other.buckets, strict=True)]
        if other._sketch is None:
            self._rank(other._values)
        else:
            self._sketched().merge(other._sketch)

    @property
    def mean(self) -> float:
        """Returns the mean; NaN where there is no value."""
        return self.sum / self.count if self.count else math.nan

    def quantiles(self, ranks: Sequence[float]) -> list[float]:
        """Returns the values at ranks from 0 to 1; NaN where there is none, or the distribution is not kept.

        They are exact, and numpy's, up to ``EXACT_MAX`` values, and the sketch's beyond.
        """
        if not self.count or self.bounds is None:
            return [math.nan] * len(ranks)
        if self._sketch is None:
            return [float(value) for value in np.quantile(self._values, ranks)]
        found = self._sketch.get_quantiles(list(ranks), True)
        return [self.min if r <= 0 else self.max if r >= 1 else q for r, q in zip(ranks, found, strict=True)]

    def histogram(self) -> tuple[list[float], list[int]]:
        """Returns edges and counts; no value is left out.

        With bounds there is one count more than edges: the values up to each edge, and those beyond the last. Without,
        the bins lie between the edges, from the smallest value to the largest.
        """
        if self.bounds:
            return list(self.bounds), list(self.buckets)
        if not self.count or self.bounds is None:
            return [], []
        edges = np.histogram_bin_edges([self.min, self.max], BINS)
        if self._sketch is None:
            return edges.tolist(), np.histogram(self._values, edges)[0].tolist()
        shares = self._sketch.get_cdf(edges[1:-1].tolist(), False)
        below = [0, *(round(share * self.count) for share in shares[:-1]), self.count]
        return edges.tolist(), np.diff(below).tolist()

    def __reduce__(self) -> tuple[Any, ...]:
        sketch = None if self._sketch is None else self._sketch.serialize()
        held = self.count, self.sum, self.min, self.max, self.last, self.not_finite, self.buckets, self._values
        return _restored, (self.bounds, held, sketch)

    def _take(self, count: int, total_more: float, smallest: float, largest: float, last: float) -> None:
        self.count += count
        self.min, self.max, self.last = min(self.min, smallest), max(self.max, largest), last
        total = self.sum + total_more
        self.sum = total if math.isfinite(total) else math.copysign(sys.float_info.max, total)

    def _rank(self, finite: Sequence[float] | NDArray[np.float64]) -> None:
        if self._sketch is None and len(self._values) + len(finite) <= EXACT_MAX:
            self._values += [float(value) for value in finite]
        elif len(finite):
            self._sketched().update(np.asarray(finite, np.float64))

    def _sketched(self) -> kll_doubles_sketch:
        """Returns the sketch, made of the values where there was none yet."""
        if self._sketch is None:
            self._sketch = kll_doubles_sketch(SKETCH_K)
            if self._values:
                self._sketch.update(np.asarray(self._values, np.float64))
            self._values = []
        return self._sketch


def _restored(bounds: tuple[float, ...] | None, held: tuple[Any, ...], sketch: bytes | None) -> Summary:
    """Returns the summary that was pickled."""
    found = Summary(bounds)
    found.count, found.sum, found.min, found.max, found.last, found.not_finite, found.buckets, found._values = held
    found._sketch = None if sketch is None else kll_doubles_sketch.deserialize(sketch)
    return found
