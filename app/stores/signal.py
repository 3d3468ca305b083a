"""Wakes those that wait on one event loop for something to become true."""

import asyncio
from collections.abc import Callable


class Signal:
    """Tells waiting tasks to look again; belongs to one event loop."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def set(self) -> None:
        """Has everyone who waits look again."""
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def until(self, true: Callable[[], bool]) -> None:
        """Waits until something is true, which must be told by ``set``; give it a time-out."""
        while not true():
            future = asyncio.get_running_loop().create_future()
            self._waiting.add(future)
            try:
                await future
            finally:
                self._waiting.discard(future)
