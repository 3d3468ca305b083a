"""A proxy between game cores and the game port that loses replies."""

import asyncio
import random
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

CHUNK_BYTES = 2**16
WAIT_S = 20.0


@dataclass
class CuttingProxy:
    """Passes bytes on; now and then it ends a connection in place of a reply."""

    target: int
    """Game port on this machine."""
    share: float
    """Share of the replies that are lost."""
    seed: int
    url: str = ""
    passed: int = 0
    """Replies that went through."""
    cut: int = 0
    """Replies that did not."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._source = random.Random(self.seed)  # noqa: S311  # A test, not a secret.

    async def serve(self, ready: "Future[None]", stop: asyncio.Event) -> None:
        """Serves until told to stop."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ready.set_result(None)
        await stop.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
            ways = [self._requests(reader, far_writer), self._replies(far_reader, writer)]
            pumps = [asyncio.ensure_future(way) for way in ways]
            try:
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for pump in pumps:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
                far_writer.transport.abort()
        writer.transport.abort()

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()

    async def _replies(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Passes replies on; a game core with one request under way gets each in one piece."""
        while data := await reader.read(CHUNK_BYTES):
            if self._source.random() < self.share:
                self.cut += 1
                return
            self.passed += 1
            writer.write(data)
            await writer.drain()


@contextmanager
def cutting_proxy(target: int, share: float, seed: int = 0) -> Iterator[CuttingProxy]:
    """Runs a proxy while the block lasts."""
    proxy, loop, ready = CuttingProxy(target, share, seed), asyncio.new_event_loop(), Future[None]()
    stop = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(proxy.serve(ready, stop)), daemon=True)
    thread.start()
    try:
        ready.result(WAIT_S)
        yield proxy
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(WAIT_S)
        loop.close()
