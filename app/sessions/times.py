"""Where the time of a tick goes."""

from time import perf_counter
from typing import Final

from app.metrics.names import TICK_SECONDS
from app.metrics.registry import Registry

now_s: Final = perf_counter
"""Returns seconds that never go back, at a clock's finest."""


class TickTimes:
    """Takes the times of answered ticks; two clock reads and two appends each."""

    __slots__ = ("_agent", "_queue")

    def __init__(self, registry: Registry) -> None:
        """Binds the series.

        Args:
          registry: Of the process.
        """
        self._queue = registry.series(TICK_SECONDS, part="queue").add
        self._agent = registry.series(TICK_SECONDS, part="agent").add

    def took(self, arrived_s: float, turn_s: float) -> None:
        """Takes a tick that is answered now.

        Args:
          arrived_s: When it came.
          turn_s: When its agent was asked; before, it waited for the steps ahead of it.
        """
        self._queue(turn_s - arrived_s)
        self._agent(now_s() - turn_s)
