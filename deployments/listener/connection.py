"""What the connections of all protocols have in common: bytes in, bytes out, time-outs, and the end."""

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Any, ClassVar, Final

from deployments.listener.port import Connections

LINGER_S: Final = 2.0
"""Longest wait for the peer to close after the last reply; closing on bytes that are unread would reset it away."""

PROGRESS_BYTES: Final = 64 * 1024
"""Bytes of a request that must come within each ``header_timeout_s``; more than a head may have."""


class Connection(asyncio.Protocol):
    """One connection."""

    __slots__ = (
        "_blocked_s",
        "_closing_s",
        "_fed",
        "_heard",
        "_partial_mark",
        "_peer_ended",
        "_port",
        "_taken",
        "_transport",
    )

    stays: ClassVar[bool] = False
    """Whether it stays open while the port drains."""

    def __init__(self, port: Connections) -> None:
        self._port = port
        self._transport: asyncio.Transport | None = None
        self._fed = 0
        """Bytes that have come."""
        self._taken = 0
        """Requests that have come."""
        self._peer_ended = False
        self._blocked_s: float | None = None
        """Since when the peer leaves its replies unread; None while it reads them."""
        self._closing_s: float | None = None
        """When the last bytes were written; None while more may follow."""
        self._heard = (port.loop.time(), -1)
        """When the last look saw something new, and how many bytes there were."""
        self._partial_mark: tuple[float, int, int] | None = None
        """When a look first saw the request that is not whole yet, with the requests and bytes before it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Notes the transport."""
        self._transport = transport  # type: ignore[assignment]
        self._port.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the transport; steps under way run to their end, so that a retry finds their replies."""
        self._transport = None
        self._forget_if_done()

    @property
    def ending(self) -> bool:
        """Whether its last bytes are written and it waits for the peer to close."""
        return self._closing_s is not None

    def tasks(self) -> Iterable[asyncio.Future[Any]]:
        """Returns the tasks, or futures, that answer its requests."""
        return ()

    def drain(self) -> None:
        """Learns that the port drains."""

    def close(self) -> None:
        """Closes the connection after what is written has left."""
        if self._transport is not None:
            self._closing_s = self._closing_s or self._port.loop.time()
            self._transport.close()

    def sweep(self, now_s: float) -> None:
        """Closes the connection where the peer has kept it waiting for too long."""
        if self._transport is None:
            return
        limits = self._port.limits
        if self._closing_s is not None:
            if now_s - self._closing_s > LINGER_S:
                self._transport.abort()
        elif self._too_slow(now_s):
            self._drop("connections_slow")
        elif self._blocked_s is not None and now_s - self._blocked_s > limits.idle_timeout_s:
            self._drop("connections_stalled")
        elif self._fed != self._heard[1] or self._busy():
            self._heard = (now_s, self._fed)
        elif now_s - self._heard[0] > limits.idle_timeout_s:
            self._drop("connections_idle")

    def _busy(self) -> bool:
        """Returns whether the peer waits for us."""
        return False

    def _partial(self) -> bool:
        """Returns whether a request has begun to come and we wait for the rest."""
        return False

    def _partial_limit_s(self) -> float:
        return self._port.limits.header_timeout_s

    def _too_slow(self, now_s: float) -> bool:
        """Returns whether the request that is on its way does not get on."""
        mark = self._partial_mark
        if not self._partial():
            self._partial_mark = None
            return False
        if mark is None or mark[1] != self._taken:
            self._partial_mark = (now_s, self._taken, self._fed)
            return False
        if now_s - mark[0] <= self._partial_limit_s():
            return False
        if self._fed - mark[2] >= PROGRESS_BYTES:
            self._partial_mark = (now_s, self._taken, self._fed)
            return False
        return True

    def _drop(self, what: str) -> None:
        self._port.counts[what] += 1
        if self._transport is not None:
            self._transport.abort()

    def _end(self) -> None:
        """Closes once the peer does, so that it can read the last reply whatever it is still sending."""
        if self._transport is None or self._transport.is_closing():
            return
        if self._peer_ended:
            self.close()
        elif self._closing_s is None:
            self._closing_s = self._port.loop.time()
            with contextlib.suppress(OSError):  # The peer has reset it: the loop tells in a moment.
                self._transport.write_eof()

    def _forget_if_done(self) -> None:
        if self._transport is None and not self._busy():
            self._port.forget(self)
