"""What clients of the protocols other than HTTP send and read; written from docs/protocol.md alone."""

import asyncio
import struct

from app.wire import messages_pb2 as pb
from tests.deployments.wire_client import WAIT_S, Client

UPGRADE = (
    b"GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
"""A request for a WebSocket."""


def bray(session: str, kind: str = "tick", body: bytes = b"", *, time: int = 0) -> bytes:
    """Returns a request in Bray's framing."""
    parts = [session.encode(), kind.encode(), b"", b"", body]
    return struct.pack("!6q", *map(len, parts), time) + b"".join(parts)


async def bray_reply(client: Client) -> tuple[str, bytes, int]:
    """Returns session, body and time of the next reply."""
    async with asyncio.timeout(WAIT_S):
        session_size, body_size, time = struct.unpack("!3q", await client.reader.readexactly(24))
        session = await client.reader.readexactly(session_size)
        return session.decode(), await client.reader.readexactly(body_size), time


def native(request: pb.Request) -> bytes:
    """Returns a native frame."""
    payload = request.SerializeToString()
    return struct.pack(">I", len(payload)) + payload


def step(number: int, session: str, body: bytes = b"") -> pb.Request:
    """Returns a request of one tick."""
    return pb.Request(step=pb.Step(session=session, body=body), request_id=number)


async def native_reply(client: Client) -> pb.Reply:
    """Returns the next reply."""
    async with asyncio.timeout(WAIT_S):
        (size,) = struct.unpack(">I", await client.reader.readexactly(4))
        return pb.Reply.FromString(await client.reader.readexactly(size))
