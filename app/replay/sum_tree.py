"""Sums over ranges of numbers, for drawing with probabilities that change (Schaul et al., 2016)."""

import numpy as np
from numpy.typing import NDArray

from app.replay.wide_tree import WideTree


class SumTree(WideTree):
    """Non-negative numbers, their sum, and which of them a mass falls on.

    A sum is always taken anew over a node's children, never by adding differences: it does not drift, and it depends
    on the present leaves alone, so that a restored tree is equal to the bit.
    """

    def __init__(self, leaves: int) -> None:
        """Makes a tree of zeros.

        Raises:
          ValueError: ``leaves`` < 1.
        """
        super().__init__(leaves, np.add, 0.0)

    def find(self, masses: NDArray[np.float64]) -> NDArray[np.intp]:
        """Returns for each mass the first leaf at which the running sum exceeds it, [N].

        A mass of the whole sum or more falls on the last leaf above 0. A leaf of 0 is never returned.

        Args:
          masses: Numbers from 0 to the sum, [N].

        Raises:
          ValueError: All leaves are 0.
        """
        if not self.root > 0:
            raise ValueError(f"a sum tree needs a leaf above 0 to find one, got the sum {self.root}")
        nodes = np.zeros(len(masses), np.intp)
        at = np.arange(len(masses))
        for level in reversed(self._levels):
            sums = np.cumsum(level[nodes], axis=1)
            # Rounding may leave more mass than the children have: below their sum there is always a child above 0.
            masses = np.minimum(masses, np.nextafter(sums[:, -1], 0.0))
            child = (sums <= masses[:, None]).sum(axis=1)
            masses = masses - np.where(child > 0, sums[at, child - 1], 0.0)
            nodes = nodes * level.shape[1] + child
        return nodes
