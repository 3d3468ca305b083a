"""Counts repetitions within a batch."""

import numpy as np
from numpy.typing import NDArray


def occurrences(slots: NDArray[np.intp]) -> NDArray[np.intp]:
    """Returns how often each slot stands before itself in the same array, [N]: 0 for the first time."""
    order = np.argsort(slots, kind="stable")
    in_order = slots[order]
    at = np.arange(len(slots))
    begins = np.ones(len(slots), bool)
    begins[1:] = in_order[1:] != in_order[:-1]
    counts = np.empty(len(slots), np.intp)
    counts[order] = at - np.maximum.accumulate(np.where(begins, at, 0))
    return counts
