"""A fake service in a thread, for clients that block."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .fake_service import FakeService, FakeSession, fake_service

WAIT_S = 30.0


@contextmanager
def service_in_thread(agent: Callable[[FakeSession], Any] = lambda _: 1) -> Iterator[FakeService]:
    """Runs a service in a thread while the block lasts; what it counts may be read from outside."""
    ready = threading.Event()
    found: list[Any] = []

    async def serve() -> None:
        end = asyncio.Event()
        async with fake_service(agent) as service:
            found.extend([service, asyncio.get_running_loop(), end])
            ready.set()
            await end.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(WAIT_S)
    service, loop, end = found
    try:
        yield service
    finally:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(end.set)
        thread.join(WAIT_S)
