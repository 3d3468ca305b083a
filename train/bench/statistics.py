"""What a benchmark may claim."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

SPREAD_MAX: Final = 0.3
"""Inter-quartile range over the median from which on a figure counts as not measured."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure over several runs."""

    median: float
    iqr: float
    """Distance between the quartiles."""
    runs: int

    @property
    def measured(self) -> bool:
        """Returns whether the spread is small enough for the median to mean something."""
        return self.runs > 0 and self.iqr <= SPREAD_MAX * abs(self.median)

    def as_dict(self) -> dict[str, object]:
        """Returns the figure for a JSON line."""
        return {
            "median": round(self.median, 3),
            "iqr": round(self.iqr, 3),
            "runs": self.runs,
            "measured": self.measured,
        }


def figure(values: Sequence[float]) -> Figure:
    """Returns median and spread.

    Raises:
      ValueError: There is no value.
    """
    if not values:
        raise ValueError("a figure needs at least one run")
    low, median, high = np.percentile(np.array(values, float), [25, 50, 75]).tolist()
    return Figure(median, high - low, len(values))
