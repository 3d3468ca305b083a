"""Metrics that wait for the experiment store: bounded, and every update that is lost is counted."""

import math
import threading
from collections import Counter, deque
from collections.abc import Mapping
from typing import NamedTuple


class Value(NamedTuple):
    """One metric at one update."""

    name: str
    value: float
    time_ms: int
    step: int


class UpdateBuffer:
    """Updates in order: added by any thread, taken out by one.

    When full, the oldest update is dropped and counted. What was taken stays here until it is ``settled``, so that a
    failed write can be repeated; it does not count against the capacity.
    """

    def __init__(self, capacity_updates: int, batch_values: int) -> None:
        """Starts empty.

        Args:
          capacity_updates: Updates kept.
          batch_values: Values after which ``take`` stops; the last update may exceed it.
        """
        self.taken: list[Value] = []
        """Finite values of the updates that are being written."""
        self.non_finite: Counter[str] = Counter()
        """How often each metric was infinite or not a number; written by the taking thread only."""
        self.non_finite_values = 0
        """Sum of ``non_finite``, for other threads."""
        self.lost = 0
        """Updates that were dropped because the buffer was full, or that the store refused."""
        self._capacity = capacity_updates
        self._batch = batch_values
        self._updates: deque[tuple[int, dict[str, float], float]] = deque()
        self._in_flight = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Returns the updates that are not written yet."""
        return len(self._updates) + self._in_flight

    def add(self, step: int, metrics: Mapping[str, float], time_s: float) -> None:
        """Adds one update and never waits for the taking side.

        Args:
          step: Number of the update.
          metrics: Values by name; copied.
          time_s: When they were measured, in Unix seconds.
        """
        update = (step, {name: float(value) for name, value in metrics.items()}, time_s)
        with self._lock:
            if len(self._updates) == self._capacity:
                self._updates.popleft()
                self.lost += 1
            self._updates.append(update)

    def take(self) -> bool:
        """Moves the oldest updates into ``taken`` and returns whether there were any."""
        self.taken = []
        while len(self.taken) < self._batch and (update := self._pop()) is not None:
            step, metrics, time_s = update
            for name, value in metrics.items():
                if math.isfinite(value):
                    self.taken.append(Value(name, value, int(time_s * 1000), step))
                else:
                    self.non_finite[name] += 1
                    self.non_finite_values += 1
        return self._in_flight > 0

    def settle(self, *, written: bool) -> None:
        """Forgets what was taken, as written or as lost."""
        with self._lock:
            if not written:
                self.lost += self._in_flight
            self._in_flight = 0
        self.taken = []

    def _pop(self) -> tuple[int, dict[str, float], float] | None:
        with self._lock:
            if not self._updates:
                return None
            self._in_flight += 1
            return self._updates.popleft()
