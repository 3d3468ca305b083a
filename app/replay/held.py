"""Which rows a table holds: where each stands, when it came, and how often it was sampled."""

import numpy as np
from numpy.typing import NDArray

from app.errors import CheckpointError
from app.replay.arrivals import Arrivals
from app.types import Arrays


class Held:
    """The slots of a table, those that hold a row and those that are free.

    Each row has the number of its insert, counted from 0 over the table's life: a slot and a number name one row for
    ever, even when the slot holds another row later.
    """

    def __init__(self, capacity_rows: int) -> None:
        """Makes slots that are all free.

        Raises:
          ValueError: ``capacity_rows`` < 1.
        """
        if capacity_rows < 1:
            raise ValueError(f"a table needs at least 1 slot, got {capacity_rows}")
        self._order = np.arange(capacity_rows)
        """All slots: first those that hold a row, then the free ones."""
        self._place = np.arange(capacity_rows)
        """Where each slot stands in ``_order``."""
        self._size = 0
        self._sum = 0
        """Sum of the numbers of the rows held."""
        self.numbers = np.full(capacity_rows, -1, np.int64)
        """Number of the insert of the row in each slot, -1 for a free one, [capacity]."""
        self.sampled = np.zeros(capacity_rows, np.int64)
        """How often the row in each slot was sampled, [capacity]."""
        self.priorities = np.zeros(capacity_rows)
        """Priority of the row in each slot, [capacity]."""
        self.inserted = 0
        """Rows inserted so far."""
        self._arrivals = Arrivals(self.numbers)

    def __len__(self) -> int:
        return self._size

    @property
    def capacity_rows(self) -> int:
        """Number of slots."""
        return len(self._order)

    @property
    def free(self) -> int:
        """Number of free slots."""
        return len(self._order) - self._size

    @property
    def slots(self) -> NDArray[np.intp]:
        """The slots that hold a row, in no stated order, [size]; a view, valid until the next change."""
        return self._order[: self._size]

    def add(self, priorities: NDArray[np.float64]) -> NDArray[np.intp]:
        """Returns the free slots that new rows take, [N]; there must be so many.

        Args:
          priorities: Priority of each new row, [N].
        """
        rows = len(priorities)
        slots = self._order[self._size : self._size + rows].copy()
        numbers = np.arange(self.inserted, self.inserted + rows)
        self.numbers[slots] = numbers
        self.sampled[slots] = 0
        self.priorities[slots] = priorities
        self.inserted += rows
        self._size += rows
        self._sum += int(numbers.sum())
        self._arrivals.append(slots)
        return slots

    def remove(self, slots: NDArray[np.intp]) -> None:
        """Frees distinct slots that hold a row, [N]; they are taken again in this order."""
        size = self._size - len(slots)
        places = self._place[slots]
        tail_stays = np.ones(len(slots), bool)
        tail_stays[places[places >= size] - size] = False
        moved = self._order[size : self._size][tail_stays]
        holes = places[places < size]
        self._order[holes] = moved
        self._place[moved] = holes
        self._order[size : self._size] = slots
        self._place[slots] = np.arange(size, self._size)
        self._size = size
        self._sum -= int(self.numbers[slots].sum())
        self.numbers[slots] = -1

    def oldest(self, rows: int) -> NDArray[np.intp]:
        """Returns the slots of the oldest rows, oldest first; fewer where there are fewer, [N]."""
        return self._arrivals.oldest(rows)

    def newest(self, rows: int) -> NDArray[np.intp]:
        """Returns the slots of the newest rows, newest first; fewer where there are fewer, [N]."""
        return self._arrivals.newest(rows)

    def mean_age_inserts(self) -> float:
        """Returns how many rows came after a row, on average over the rows held; NaN where none is held."""
        return self.inserted - 1 - self._sum / self._size if self._size else float("nan")

    def state_dict(self) -> Arrays:
        """Returns all that what comes depends on; copies."""
        slots = self.slots
        return {
            "order": self._order.copy(),
            "numbers": self.numbers[slots],
            "sampled": self.sampled[slots],
            "priorities": self.priorities[slots],
            "inserted": np.array(self.inserted),
        }

    def load_state_dict(self, state: Arrays) -> None:
        """Takes over the rows of other slots in place of its own.

        Raises:
          CheckpointError: There are not as many slots.
        """
        order, numbers = np.asarray(state["order"], np.intp), np.asarray(state["numbers"], np.int64)
        if len(order) != self.capacity_rows:
            raise CheckpointError(f"a table of {self.capacity_rows} rows cannot take over one of {len(order)} rows")
        self._order[:] = order
        self._place[order] = np.arange(len(order))
        self._size, self._sum = len(numbers), int(numbers.sum())
        self.inserted = int(state["inserted"])
        self.numbers[:] = -1
        self.numbers[self.slots] = numbers
        self.sampled[self.slots] = state["sampled"]
        self.priorities[self.slots] = state["priorities"]
        self._arrivals = Arrivals(self.numbers)
        self._arrivals.append(self.slots[np.argsort(numbers)])
