"""Where the time of a tick goes."""

from collections.abc import Callable
from time import perf_counter
from typing import Final

from app.metrics.names import TICK_SECONDS
from app.metrics.registry import Registry
from app.metrics.series import PENDING_MAX
from app.types import SessionId

now_s: Final = perf_counter
"""Returns seconds that never go back, at a clock's finest."""


class TickTimes:
    """Takes the times of answered ticks; two clock reads and two appends each, without a call of Python's."""

    __slots__ = ("_agent", "_pending", "_queue", "_reduce")

    def __init__(self, registry: Registry) -> None:
        """Binds the series.

        Args:
          registry: Of the process.
        """
        both = [registry.series(TICK_SECONDS, part=part) for part in ("queue", "agent")]
        self._queue, self._agent = (series.pending.append for series in both)
        self._pending, self._reduce = both[1].pending, [series.reduce for series in both]

    def took(self, arrived_s: float, turn_s: float) -> None:
        """Takes a tick that is answered now.

        Args:
          arrived_s: When it came.
          turn_s: When its agent was asked; before, it waited for the steps ahead of it.
        """
        self._queue(turn_s - arrived_s)
        self._agent(now_s() - turn_s)
        if len(self._pending) >= PENDING_MAX:
            for reduce in self._reduce:
                reduce()


TimesOf = Callable[[SessionId], TickTimes | None]
"""Returns what takes the times of a session's ticks; None where nobody wants them."""
