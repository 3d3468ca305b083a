"""How much of its time a learner worker learns."""

import threading
import time
from collections.abc import Callable


class Utilisation:
    """Shares of the time in which a worker did not wait for rows; the worker adds, another thread asks."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begins now."""
        self._clock = clock
        self._lock = threading.Lock()
        self._since_s = clock()
        self._waited_s = 0.0

    def waited(self, seconds: float) -> None:
        """Notes that the worker has waited for a batch."""
        with self._lock:
            self._waited_s += seconds

    def take(self) -> float:
        """Returns the share since the last call, from 0 to 1; a wait counts when it ends."""
        with self._lock:
            now_s = self._clock()
            passed_s, self._since_s = now_s - self._since_s, now_s
            waited_s, self._waited_s = self._waited_s, 0.0
        return 1.0 if passed_s <= 0 else min(max(1 - waited_s / passed_s, 0.0), 1.0)
