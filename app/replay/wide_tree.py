"""A tree over numbers whose nodes hold one ufunc's result over their children."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

FAN_OUT: Final = 16
"""Children of a node. Numpy works on whole rows of children: 16 needs 5 levels for a million leaves, and measured
fastest of 4, 8, 16, 32, 64 and 128 for 256 look-ups and changes together."""
DISTINCT_FROM: Final = 1024
"""Changes from which parents are looked for repetitions, so that each is computed once."""


class WideTree:
    """Leaves, levels of nodes above them, and the root; any number of leaves, not just powers of two."""

    def __init__(self, leaves: int, join: np.ufunc, empty: float) -> None:
        """Makes a tree whose leaves are all ``empty``, which is neutral for ``join``.

        Raises:
          ValueError: ``leaves`` < 1.
        """
        if leaves < 1:
            raise ValueError(f"a tree needs at least 1 leaf, got {leaves}")
        self._join = join
        self._levels: list[NDArray[np.float64]] = []
        nodes = leaves
        while not self._levels or nodes > 1:
            nodes = -(-nodes // FAN_OUT)
            self._levels.append(np.full((nodes, FAN_OUT), empty))
        self._leaves = self._levels[0].reshape(-1)[:leaves]

    def __len__(self) -> int:
        return len(self._leaves)

    @property
    def root(self) -> float:
        """Join of all leaves."""
        return float(self._join.reduce(self._levels[-1][0]))

    def get(self, leaves: NDArray[np.integer]) -> NDArray[np.float64]:
        """Returns the numbers of these leaves, [N]."""
        numbers: NDArray[np.float64] = self._leaves[leaves]
        return numbers

    def set(self, leaves: NDArray[np.integer], numbers: NDArray[np.float64] | float) -> None:
        """Changes leaves; where one is named twice, its last number counts.

        Args:
          leaves: Indices, [N].
          numbers: New numbers, [N], or one for all.
        """
        self._leaves[leaves] = numbers
        nodes = leaves
        for below, level in zip(self._levels[:-1], self._levels[1:], strict=True):
            nodes = nodes // FAN_OUT
            if len(nodes) > DISTINCT_FROM:
                nodes = np.unique(nodes)
            level.reshape(-1)[nodes] = self._join.reduce(below[nodes], axis=1)
