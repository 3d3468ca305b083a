"""One task for each key at a time, however many want its result."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class SharedTasks(Generic[Result]):
    """Does the work of a key once; whoever wants the same meanwhile waits for it, and shares its failure."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[Result]] = {}

    async def result(self, key: str, work: Callable[[], Awaitable[Result]]) -> Result:
        """Returns the result of the work that is under way for a key, begun now where there is none.

        Who waits may be cancelled; the work goes on. It raises what the work raises.
        """
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.get_running_loop().create_task(_run(work))
            task.add_done_callback(lambda done: self._ended(key, done))
        return await asyncio.shield(task)

    async def cancel(self) -> None:
        """Cancels all that is under way, and waits until it has ended."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _ended(self, key: str, task: asyncio.Task[Result]) -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # Whoever asked may be gone: then nobody else would look at it.


async def _run(work: Callable[[], Awaitable[Result]]) -> Result:
    return await work()
