"""Metrics that wait for the experiment store: bounded, and every update that is lost is counted."""

import math
import threading
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class Value(NamedTuple):
    """One metric at one update."""

    name: str
    value: float
    time_ms: int
    step: int


class LoggedUpdate(NamedTuple):
    """What was measured at one update."""

    step: int
    metrics: dict[str, float]
    time_s: float


class Overflow(Protocol):
    """Keeps updates elsewhere, in order."""

    def __len__(self) -> int:
        """Returns how many there are."""

    def append(self, updates: Sequence[LoggedUpdate]) -> int:
        """Takes updates, and returns how many it has no room for."""

    def pop(self) -> LoggedUpdate | None:
        """Returns the oldest; None where there is none."""


class UpdateBuffer:
    """Updates in order: added by any thread, taken out by one.

    When full, the oldest update is dropped and counted. What was taken stays here until it is ``settled``, so that a
    failed write can be repeated; it does not count against the capacity. Before it is full the taking thread may
    ``spill``: what has overflowed is older than what is here, and comes first.
    """

    def __init__(self, capacity_updates: int, batch_values: int, overflow: Overflow | None = None) -> None:
        """Starts empty.

        Args:
          capacity_updates: Updates kept.
          batch_values: Values after which ``take`` stops; the last update may exceed it.
          overflow: Where updates go that there is soon no room for; None has no such place.
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
        self._overflow = overflow
        self._updates: deque[LoggedUpdate] = deque()
        self._in_flight: list[LoggedUpdate] = []
        self._ended = False
        self._overflowing = threading.Lock()
        """Taken before the other one by whoever uses the overflow."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Returns the updates that are not written yet."""
        return len(self._updates) + len(self._in_flight) + (0 if self._overflow is None else len(self._overflow))

    def add(self, step: int, metrics: Mapping[str, float], time_s: float) -> None:
        """Adds one update and never waits for the taking side.

        Args:
          step: Number of the update.
          metrics: Values by name; copied.
          time_s: When they were measured, in Unix seconds.
        """
        update = LoggedUpdate(step, {name: float(value) for name, value in metrics.items()}, time_s)
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
        return bool(self._in_flight)

    def spill(self) -> None:
        """Moves the older half of what waits into the overflow, where this is more than half full."""
        if self._overflow is None or len(self._updates) <= self._capacity // 2:
            return
        with self._overflowing:
            with self._lock:  # Held for no longer than that: whoever adds is not to wait for the disk.
                half = 0 if self._ended else len(self._updates) // 2
                older = [self._updates.popleft() for _ in range(half)]
            lost = self._overflow.append(older)
            with self._lock:
                self.lost += lost

    def end(self) -> list[LoggedUpdate]:
        """Returns what is left, the oldest first, and gives nothing more to the taking thread."""
        with self._overflowing, self._lock:
            self._ended = True
            left = list(self._in_flight)
            while self._overflow is not None and (update := self._overflow.pop()) is not None:
                left.append(update)
            left += self._updates
            self._updates.clear()
            self._in_flight = []
            return left

    def settle(self, *, written: bool) -> None:
        """Forgets what was taken, as written or as lost."""
        with self._lock:
            if not written:
                self.lost += len(self._in_flight)
            self._in_flight = []
        self.taken = []

    def _pop(self) -> LoggedUpdate | None:
        with self._overflowing, self._lock:
            if self._ended:
                return None
            update = None if self._overflow is None else self._overflow.pop()
            if update is None and self._updates:
                update = self._updates.popleft()
            if update is not None:
                self._in_flight.append(update)
            return update
