"""Which rows make room when a table is full."""

import numpy as np
from numpy.typing import NDArray

from app.replay.held import Held
from app.replay.min_tree import MinTree
from app.replay.selectors import Remover


class RemoveOldest(Remover):
    """The rows that came first: the table is a ring."""

    def choose(self, held: Held, rows: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Returns the slots of the oldest rows, oldest first, [N]."""
        return held.oldest(rows)


class RemoveUniform(Remover):
    """Any row with the same chance: what stays is a sample of all that ever came, newer rows more often."""

    def choose(self, held: Held, rows: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Returns the slots of rows drawn without replacement, [N]."""
        return held.slots[rng.choice(len(held), rows, replace=False)]


class RemoveLowestPriority(Remover):
    """The rows with the lowest priority; which of several equal ones is not stated."""

    def __init__(self) -> None:
        self._tree = MinTree(1)

    def begin(self, capacity_rows: int) -> None:
        """Prepares for the slots 0 … ``capacity_rows`` - 1, all free."""
        self._tree = MinTree(capacity_rows)

    def added(self, slots: NDArray[np.intp], priorities: NDArray[np.float64]) -> None:
        """Notes new rows, or new priorities of rows held, [N]."""
        self._tree.set(slots, priorities)

    def removed(self, slots: NDArray[np.intp]) -> None:
        """Notes rows that left, [N]."""
        self._tree.set(slots, np.inf)

    def choose(self, held: Held, rows: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Returns the slots of the rows with the lowest priorities, [N]."""
        return self._tree.lowest(rows)
