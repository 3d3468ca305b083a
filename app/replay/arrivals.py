"""The order in which the rows of a table came."""

import numpy as np
from numpy.typing import NDArray


class Arrivals:
    """Slots by arrival. A row that left stays listed until it is passed over: a slot's number tells the two apart."""

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        """Makes an empty list.

        Args:
          numbers: Number of the insert that filled each slot, -1 for an empty one; its owner keeps it up to date.
        """
        self._numbers = numbers
        # Twice the slots: whenever the list is full, at least half of it is of rows that left.
        self._slots = np.zeros(2 * len(numbers), np.intp)
        self._entered = np.zeros(2 * len(numbers), np.int64)
        self._start = self._end = 0

    def append(self, slots: NDArray[np.intp]) -> None:
        """Lists slots that were just filled, in this order, [N]; no more than there are slots."""
        if self._end + len(slots) > len(self._slots):
            self._tidy()
        where = slice(self._end, self._end + len(slots))
        self._slots[where] = slots
        self._entered[where] = self._numbers[slots]
        self._end += len(slots)

    def oldest(self, count: int) -> NDArray[np.intp]:
        """Returns the slots of the ``count`` oldest rows, oldest first; fewer where there are fewer, [N]."""
        window = max(count, 1)
        while True:
            stop = min(self._start + window, self._end)
            held = self._held(self._start, stop)
            if len(held) >= count or stop == self._end:
                break
            window *= 2
        self._start = int(held[0]) if len(held) else stop
        return self._slots[held[:count]]

    def newest(self, count: int) -> NDArray[np.intp]:
        """Returns the slots of the ``count`` newest rows, newest first; fewer where there are fewer, [N]."""
        window = max(count, 1)
        while True:
            start = max(self._end - window, self._start)
            held = self._held(start, self._end)
            if len(held) >= count or start == self._start:
                break
            window *= 2
        self._end = int(held[-1]) + 1 if len(held) else start
        return self._slots[held[::-1][:count]]

    def _held(self, start: int, stop: int) -> NDArray[np.intp]:
        """Returns where in a part of the list there are rows that have not left."""
        slots = self._slots[start:stop]
        return np.flatnonzero(self._numbers[slots] == self._entered[start:stop]) + start

    def _tidy(self) -> None:
        """Forgets the rows that left."""
        held = self._held(self._start, self._end)
        self._slots[: len(held)] = self._slots[held]
        self._entered[: len(held)] = self._entered[held]
        self._start, self._end = 0, len(held)
