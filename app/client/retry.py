"""How long and how often a request is repeated."""

import asyncio
import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """Time limits of one step, tries and waits together.

    Attributes:
      limit_s: No try starts later than this after the first one.
      request_s: One try is given up after this; the service itself answers 504 well before.
      first_wait_s: Upper bound of the wait before the second try; it doubles from try to try.
      longest_wait_s: Upper bound of any wait, unless the service asks for more.
    """

    limit_s: float = 60.0
    request_s: float = 10.0
    first_wait_s: float = 0.02
    longest_wait_s: float = 2.0

    def __post_init__(self) -> None:
        if min(self.limit_s, self.request_s, self.first_wait_s) <= 0 or self.longest_wait_s < self.first_wait_s:
            raise ValueError(f"retry limits are positive, the longest wait not below the first; got {self}")


class Backoff:
    """The waits between the tries of one step: exponential, jittered, within a time limit."""

    def __init__(self, limits: RetryLimits, source: random.Random) -> None:
        self._limits = limits
        self._source = source
        self._wait_s = limits.first_wait_s
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.time() + limits.limit_s

    def left_s(self) -> float:
        """Returns the seconds left for tries; not above 0 when the time is up."""
        return self._deadline - self._loop.time()

    def next_s(self, at_least_s: float = 0.0) -> float | None:
        """Returns the wait before the next try; None where no time is left for one."""
        wait_s = at_least_s + self._source.uniform(0.0, self._wait_s)
        self._wait_s = min(2 * self._wait_s, self._limits.longest_wait_s)
        return None if wait_s > self.left_s() else wait_s

    async def wait(self, at_least_s: float = 0.0) -> bool:
        """Waits before the next try; tells, without waiting, when there is no time for one."""
        wait_s = self.next_s(at_least_s)
        if wait_s is None:
            return False
        await asyncio.sleep(wait_s)
        return True
