"""The limit of ``ticks``: echo servers of one asyncio protocol each, without sessions, Serve or Ray.

Run as ``python -m train.bench.bare http|frames``; it prints its port, answers until its standard input ends, and must
import nothing that a tick does not need.
"""

import asyncio
import struct
import sys
import threading
from collections.abc import Callable

import httptools
import uvloop

_HEAD = struct.Struct(">6q")
_REPLY = struct.Struct(">3q")


class HttpEcho(asyncio.Protocol):
    """Answers each HTTP request with its body."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._body = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Notes the transport."""
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Parses what has come."""
        self._parser.feed_data(data)

    def on_body(self, part: bytes) -> None:
        """Takes a part of the body."""
        self._body += part

    def on_message_complete(self) -> None:
        """Answers."""
        body, self._body = self._body, b""
        self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


class FrameEcho(asyncio.Protocol):
    """Answers each frame, in Bray's TCP framing, with its session and body."""

    def __init__(self) -> None:
        self._pending = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Notes the transport."""
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Answers the frames that are whole."""
        pending = self._pending + data if self._pending else data
        while len(pending) >= _HEAD.size:
            session, kind, key, token, body, time = _HEAD.unpack_from(pending)
            size = _HEAD.size + session + kind + key + token + body
            if len(pending) < size:
                break
            id_ = pending[_HEAD.size : _HEAD.size + session]
            self._transport.write(_REPLY.pack(session, body, time) + id_ + pending[size - body : size])
            pending = pending[size:]
        self._pending = pending


async def _serve(protocol: Callable[[], asyncio.Protocol]) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(protocol, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    ended = asyncio.Event()
    threading.Thread(target=_watch, args=(loop, ended), daemon=True).start()
    await ended.wait()


def _watch(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    """Ends the server with whoever started it."""
    sys.stdin.read()
    loop.call_soon_threadsafe(ended.set)


if __name__ == "__main__":
    uvloop.run(_serve({"http": HttpEcho, "frames": FrameEcho}[sys.argv[1]]))
