"""The lowest of many numbers that change."""

import numpy as np
from numpy.typing import NDArray

from app.replay.wide_tree import WideTree


class MinTree(WideTree):
    """Numbers, and which of them are lowest; infinity where there is none."""

    def __init__(self, leaves: int) -> None:
        """Makes a tree without numbers.

        Raises:
          ValueError: ``leaves`` < 1.
        """
        super().__init__(leaves, np.minimum, np.inf)

    def lowest(self, count: int) -> NDArray[np.intp]:
        """Returns the leaves of the ``count`` lowest numbers, in no stated order; fewer where there are fewer, [N].

        On each level only the ``count`` nodes with the lowest numbers need a look: whatever lies below another node
        has at least ``count`` numbers that are as low.
        """
        nodes = np.zeros(1, np.intp)
        for level in reversed(self._levels):
            numbers = level[nodes].reshape(-1)
            children = (nodes[:, None] * level.shape[1] + np.arange(level.shape[1])).reshape(-1)
            if len(numbers) > count:
                best = np.argpartition(numbers, count - 1)[:count]
                numbers, children = numbers[best], children[best]
            nodes = children[numbers < np.inf]
        return nodes
