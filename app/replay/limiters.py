"""How many rows may be inserted and sampled at present: what keeps producers and learner in step."""

import math
from fractions import Fraction
from typing import Final

from app.replay.diff_bounds import DiffBounds
from app.replay.limiter import Counts, TableShape

UNBOUNDED_ROWS: Final = 2**63 - 1
"""A limiter that refuses no insert allows this many rows."""


class MinSize:
    """Samples wait for ``min_size_rows``; inserts never wait.

    Invariant: a sample was taken ⇒ held >= min_size_rows at that moment.
    """

    def __init__(self, min_size_rows: int) -> None:
        """Makes the limiter.

        Raises:
          ValueError: ``min_size_rows`` < 1.
        """
        self.min_size_rows = _at_least_one("min_size_rows", min_size_rows)

    def insertable_rows(self, counts: Counts) -> int:
        """Returns no bound: the table removes rows when it is full."""
        return UNBOUNDED_ROWS

    def can_sample(self, counts: Counts, rows: int) -> bool:
        """Returns whether enough rows are held."""
        return counts.held >= self.min_size_rows

    def check(self, shape: TableShape) -> None:
        """Checks that the size can be reached.

        Raises:
          ValueError: It cannot.
        """
        needed = max(self.min_size_rows, shape.largest_sample_rows if shape.distinct else 1)
        if needed > shape.holdable_rows:
            raise ValueError(f"samples wait for {needed} rows, but the table never holds over {shape.holdable_rows}")


class SamplesPerInsert:
    """Each row is sampled a given number of times on average, within an error buffer.

    Invariant, with diff = samples_per_insert · inserted - sampled::

        min_diff <= diff                              after each sample
        diff <= max_diff, or held <= min_size_rows    after each insert

    and a sample needs held >= min_size_rows. As a number, the error buffer lies around the diff at which the table
    first reaches its minimum: min_diff, max_diff = samples_per_insert · min_size_rows ∓ error_buffer. As a pair it is
    min_diff and max_diff themselves. Decimals are taken as written, and compared without rounding.

    An insert of one row is refused only at diff > max_diff - samples_per_insert, a sample of n rows only at
    diff < min_diff + n: so they never wait for each other where n <= max_diff - min_diff - samples_per_insert.
    """

    def __init__(
        self, samples_per_insert: float, min_size_rows: int, error_buffer: float | tuple[float, float]
    ) -> None:
        """Makes the limiter.

        Raises:
          ValueError: ``samples_per_insert`` is not positive, ``min_size_rows`` < 1, the error buffer is narrower than
            2 · max(1, samples_per_insert), or its lower end lies above samples_per_insert · min_size_rows.
        """
        _at_least_one("min_size_rows", min_size_rows)
        ratio = _exact("samples_per_insert", samples_per_insert)
        if ratio <= 0:
            raise ValueError(f"samples_per_insert must be positive, got {samples_per_insert}")
        reached = ratio * min_size_rows
        if isinstance(error_buffer, tuple):
            low, high = (_exact("error_buffer", end) for end in error_buffer)
        else:
            width = _exact("error_buffer", error_buffer)
            low, high = reached - width, reached + width
        if high - low < 2 * max(Fraction(1), ratio):
            raise ValueError(
                f"the ends of error_buffer must be at least {float(2 * max(Fraction(1), ratio))} apart with "
                f"samples_per_insert {samples_per_insert}, got {error_buffer}"
            )
        if low > reached:
            raise ValueError(
                f"error_buffer {error_buffer} begins above samples_per_insert * min_size_rows = {float(reached)}: "
                f"{min_size_rows} rows would never be enough for a sample"
            )
        self._bounds = DiffBounds(ratio, min_size_rows, low, high)

    def insertable_rows(self, counts: Counts) -> int:
        """Returns the rows until the minimum, or until the learner has to catch up."""
        return self._bounds.insertable_rows(counts)

    def can_sample(self, counts: Counts, rows: int) -> bool:
        """Returns whether enough rows are held, and the producers are not behind."""
        return self._bounds.can_sample(counts, rows)

    def check(self, shape: TableShape) -> None:
        """Checks that an insert or the largest sample is always possible.

        Raises:
          ValueError: They could wait for each other, or the ratio is out of reach.
        """
        bounds, rows = self._bounds, shape.largest_sample_rows
        MinSize(bounds.min_size_rows).check(shape)
        largest = bounds.largest_sample_rows
        if rows > largest:
            raise ValueError(
                f"samples of {rows} rows and inserts could wait for each other: the error buffer from "
                f"{float(bounds.low)} to {float(bounds.high)} allows samples of at most {largest} rows"
            )
        if shape.distinct and rows > bounds.min_size_rows:
            raise ValueError(
                f"samples of {rows} rows that each need a row of the table could wait for inserts that are refused: "
                f"min_size_rows must be at least {rows}, got {bounds.min_size_rows}"
            )
        if shape.max_reuse is not None and shape.max_reuse < bounds.ratio:
            raise ValueError(
                f"samples_per_insert {float(bounds.ratio)} is out of reach: a row leaves after max_reuse "
                f"{shape.max_reuse} samples"
            )


class Queue:
    """Each row is sampled exactly once, and nothing is overwritten: inserts wait while the queue is full.

    Invariant: 0 <= held = inserted - sampled - removed by age or by hand <= capacity_rows.
    """

    def __init__(self, capacity_rows: int) -> None:
        """Makes the limiter.

        Raises:
          ValueError: ``capacity_rows`` < 1.
        """
        self.capacity_rows = _at_least_one("capacity_rows", capacity_rows)

    def insertable_rows(self, counts: Counts) -> int:
        """Returns the free room."""
        return self.capacity_rows - counts.held

    def can_sample(self, counts: Counts, rows: int) -> bool:
        """Returns whether so many rows wait."""
        return counts.held >= rows

    def check(self, shape: TableShape) -> None:
        """Checks that the table keeps rows until they are sampled, and then lets go of them.

        Raises:
          ValueError: It does not, or the largest sample does not fit into the queue.
        """
        if shape.max_reuse != 1:
            raise ValueError(f"a queue hands out each row once: max_reuse must be 1, got {shape.max_reuse}")
        if not shape.largest_sample_rows <= self.capacity_rows <= shape.holdable_rows:
            raise ValueError(
                f"a queue needs largest sample <= its capacity <= rows that the table holds, "
                f"got {shape.largest_sample_rows}, {self.capacity_rows} and {shape.holdable_rows}"
            )


def _at_least_one(name: str, number: int) -> int:
    if number < 1:
        raise ValueError(f"{name} must be at least 1, got {number}")
    return number


def _exact(name: str, number: float) -> Fraction:
    """Returns the number as it is written: 0.1 is a tenth."""
    if not math.isfinite(number):
        raise ValueError(f"{name} must be a finite number, got {number}")
    return Fraction(str(number))
