"""A TCP proxy that loses replies."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

READ_BYTES = 65536


@dataclass
class LossyProxy:
    """Passes bytes on between game cores and a service; a reply that is lost takes its connection along.

    Attributes:
      port: Where it listens.
      loss: Chance of a piece of the service's bytes to be lost, in whole or in part.
      losses: How many were.
    """

    target: int
    loss: float
    source: random.Random
    port: int = 0
    losses: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target)
        with contextlib.suppress(OSError):
            async with asyncio.TaskGroup() as group:
                group.create_task(self._requests(reader, up_writer))
                group.create_task(self._replies(up_reader, writer))
        writer.transport.abort()
        up_writer.transport.abort()

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(READ_BYTES):
                writer.write(data)
        writer.transport.abort()

    async def _replies(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(READ_BYTES):
                if self.source.random() < self.loss:
                    self.losses += 1
                    writer.write(data[: self.source.choice([0, 0, len(data) // 2])])
                    break
                writer.write(data)
        writer.close()  # Part of a reply is to arrive.


@asynccontextmanager
async def lossy_proxy(target: int, loss: float, seed: int) -> AsyncIterator[LossyProxy]:
    """Runs a proxy before a port of this machine while the block lasts."""
    proxy = LossyProxy(target, loss, random.Random(seed))  # noqa: S311
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
