"""The arithmetic of samples per insert, without rounding."""

import math
from dataclasses import dataclass
from fractions import Fraction

from app.replay.limiter import Counts


@dataclass(frozen=True, slots=True)
class DiffBounds:
    """Bounds of diff = ratio · inserted - sampled."""

    ratio: Fraction
    """Samples per insert."""
    min_size_rows: int
    low: Fraction
    """Least diff after a sample."""
    high: Fraction
    """Greatest diff after an insert, once ``min_size_rows`` are held."""

    def insertable_rows(self, counts: Counts) -> int:
        """Returns the most rows n with held + n <= min_size_rows, or diff after n inserts <= high."""
        ahead = math.floor((self.high + counts.sampled) / self.ratio) - counts.inserted
        return max(self.min_size_rows - counts.held, ahead, 0)

    def can_sample(self, counts: Counts, rows: int) -> bool:
        """Returns whether held >= min_size_rows, and diff after ``rows`` samples >= low."""
        diff = self.ratio * counts.inserted - counts.sampled
        return counts.held >= self.min_size_rows and diff - rows >= self.low

    @property
    def largest_sample_rows(self) -> int:
        """Most rows n of a sample such that it and an insert of one row are never both refused.

        The insert is refused only at diff > high - ratio, the sample only at diff < low + n.
        """
        return math.floor(self.high - self.low - self.ratio)
