"""How much of its time an event loop computes."""

import time
from collections.abc import Callable


class LoopMeter:
    """Measures the thread that asks it: the one of the event loop."""

    def __init__(self, wall: Callable[[], float] = time.monotonic, cpu: Callable[[], float] = time.thread_time) -> None:
        """Begins to measure.

        Args:
          wall: Returns seconds that never go back.
          cpu: Returns CPU seconds of the calling thread.
        """
        self._wall = wall
        self._cpu = cpu
        self._since = (wall(), cpu())

    def busy(self) -> float:
        """Returns the share of the time since the last question for which the thread computed, in [0, 1]."""
        now = (self._wall(), self._cpu())
        elapsed, computed = now[0] - self._since[0], now[1] - self._since[1]
        self._since = now
        return min(1.0, max(0.0, computed / elapsed)) if elapsed > 0 else 0.0
