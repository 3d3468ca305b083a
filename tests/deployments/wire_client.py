"""A listener on a free port, and a client that sends any bytes it likes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson

from app.config.serving import ConnectionLimits
from deployments.listener.detecting import DetectingConnection
from deployments.listener.port import Answer, Connections, HttpOnly, Service

WAIT_S = 30


@dataclass(slots=True)
class Reply:
    """One reply."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


@dataclass(slots=True)
class Client:
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    sent: int = field(default=0)

    def send(self, *requests: bytes) -> None:
        self.writer.write(b"".join(requests))

    async def reply(self, *, head_only: bool = False) -> Reply:
        async with asyncio.timeout(WAIT_S):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            status, *lines = head.split("\r\n")[:-2]
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            length = 0 if head_only else int(headers["content-length"])
            return Reply(int(status.split()[1]), headers, await self.reader.readexactly(length))

    async def rest(self) -> bytes:
        """Returns what comes until the server has nothing more to say."""
        async with asyncio.timeout(WAIT_S):
            return await self.reader.read()

    async def close(self) -> None:
        self.writer.close()


def post(path: str, body: bytes = b"", **headers: str) -> bytes:
    """Returns a request; ``_`` in a header's name stays."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {path} HTTP/1.1\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def eventually(holds: Callable[[], bool]) -> None:
    """Returns once it holds."""
    async with asyncio.timeout(WAIT_S):
        while not holds():  # noqa: ASYNC110  # Nobody tells.
            await asyncio.sleep(0.001)  # Nobody tells.


async def ends(client: Client) -> bool:
    """Returns whether the connection ends without another byte, one way or the other."""
    try:
        return await client.rest() == b""
    except ConnectionResetError:
        return True


@dataclass(slots=True)
class Listener:
    """A running listener."""

    connections: Connections
    port: int

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        client = await self.connect()
        try:
            yield client
        finally:
            await client.close()

    async def connect(self) -> Client:
        async with asyncio.timeout(WAIT_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**26)
        return Client(reader, writer)


@asynccontextmanager
async def listening(
    service: Service | Answer, max_body_bytes: int = 1000, origins: tuple[str, ...] | None = None, **limits: float
) -> AsyncIterator[Listener]:
    """Runs a listener while the block lasts."""
    whole = HttpOnly(service) if callable(service) else service
    connections = Connections(whole, max_body_bytes, ConnectionLimits.model_validate(limits), origins=origins)
    accept = partial(DetectingConnection, connections)
    server = await asyncio.get_running_loop().create_server(accept, "127.0.0.1", 0)
    try:
        yield Listener(connections, server.sockets[0].getsockname()[1])
    finally:
        server.close()
        await connections.finish(0)
