"""How often something may happen."""

import math


class TokenBucket:
    """Admits at most ``rate_per_s`` · t + ``burst`` events in any t seconds.

    A clock that goes back refills nothing, and the time from there on counts again.
    """

    __slots__ = ("_burst", "_level", "_rate_per_s", "_then_s")

    def __init__(self, rate_per_s: float, burst: int) -> None:
        """Makes a full bucket.

        Raises:
          ValueError: The rate is not positive, or there is no room for one event.
        """
        if not (rate_per_s > 0 and burst >= 1):
            raise ValueError(f"a bucket needs a rate above 0 and a burst of at least 1, got {rate_per_s} and {burst}")
        self._rate_per_s = rate_per_s
        self._burst = burst
        self._level = float(burst)
        self._then_s = -math.inf

    def take(self, now_s: float) -> bool:
        """Returns whether one more event is admitted now, and counts it if so."""
        elapsed_s = now_s - self._then_s
        self._then_s = now_s
        if elapsed_s > 0:
            self._level = min(self._level + elapsed_s * self._rate_per_s, self._burst)
        if self._level < 1:
            return False
        self._level -= 1
        return True

    def resized(self, rate_per_s: float, burst: int) -> "TokenBucket":
        """Returns a bucket of another size that holds what this one holds, so that a change is no refill."""
        other = TokenBucket(rate_per_s, burst)
        other._level, other._then_s = min(self._level, burst), self._then_s
        return other
