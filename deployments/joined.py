"""Writes to a connection that leave together: a write costs a call of the kernel, and wakes the peer."""

import asyncio


class JoinedWriter:
    """Joins what is written within one turn of the event loop into one write."""

    __slots__ = ("_loop", "_transport", "_waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport) -> None:
        self._loop = loop
        self._transport = transport
        self._waiting: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Writes at the end of this turn of the loop."""
        if not self._waiting:
            self._loop.call_soon(self.flush)
        self._waiting.append(data)

    def flush(self) -> None:
        """Writes what waits now; nothing where the connection is closed."""
        waiting = self._waiting
        if waiting and not self._transport.is_closing():
            self._transport.write(waiting[0] if len(waiting) == 1 else b"".join(waiting))
        waiting.clear()
