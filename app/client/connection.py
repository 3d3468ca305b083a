"""One kept-alive HTTP/1.1 connection: cheap per call, pipelined, without a task per request."""

import asyncio
import ssl
from collections import deque
from collections.abc import Mapping

from app.client.errors import ClientError
from app.client.kept import ConnectionLostError, KeptConnection, opened
from app.client.reply import BadReplyError, Reply, ReplyReader

MAX_IN_FLIGHT = 256
"""Requests that may wait on one connection: enough for all games of a core, small enough to notice a stuck peer."""


class TooManyInFlightError(ClientError):
    """The connection already carries as many unanswered requests as it may."""


class HttpConnection(KeptConnection):
    """A client connection whose replies come in the order of its requests."""

    def __init__(self, peer: str, max_in_flight: int = MAX_IN_FLIGHT) -> None:
        super().__init__(peer)
        self._max_in_flight = max_in_flight
        self._waiters: deque[asyncio.Future[Reply]] = deque()
        self._reader = ReplyReader(self._on_reply)
        self._retired = False

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        *,
        timeout_s: float,
        max_in_flight: int = MAX_IN_FLIGHT,
        tls: ssl.SSLContext | None = None,
    ) -> "HttpConnection":
        """Returns a new connection to ``host:port``, through TLS where ``tls`` says how the peer is checked.

        Raises:
          ConnectionLostError: Nobody accepts connections there within ``timeout_s``.
        """
        return await opened(lambda peer: cls(peer, max_in_flight), host, port, timeout_s, tls)

    @property
    def free(self) -> bool:
        """Tells whether the connection is usable and carries nothing."""
        return self._usable and not self._waiters

    @property
    def in_flight(self) -> int:
        """Returns how many requests wait for their reply; those given up by their caller count until it comes."""
        return len(self._waiters)

    async def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes, timeout_s: float) -> Reply:
        """Returns the reply to one request.

        A caller may be cancelled: its reply is then dropped when it comes, and the connection goes on.

        Raises:
          ConnectionLostError: The connection ended first, or ``timeout_s`` passed, which ends it: what waits behind
            the late reply could not be answered either.
          TooManyInFlightError: ``max_in_flight`` requests are waiting already; nothing was sent.
          ValueError: The method, path or a header holds a line break.
        """
        waiter = self._send(method, path, headers, body)
        timer = self._loop.call_later(timeout_s, self._abort, f"no reply to {method} {path} within {timeout_s:g} s")
        try:
            return await waiter
        finally:
            timer.cancel()

    def retire(self) -> None:
        """Takes no more requests, and closes once what is in flight is answered."""
        self._usable, self._retired = False, True
        if not self._waiters:
            self._abort("left for another one")

    def _send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> asyncio.Future[Reply]:
        if not self._usable or self._transport is None:
            raise ConnectionLostError(f"the connection to {self._peer} is closed", sent=False)
        if len(self._waiters) >= self._max_in_flight:
            raise TooManyInFlightError(
                f"{len(self._waiters)} requests wait on the connection to {self._peer}, at most {self._max_in_flight}"
            )
        fields = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._peer}\r\n{fields}Content-Length: {len(body)}\r\n\r\n"
        if head.count("\n") != len(headers) + 4 or head.count("\r") != len(headers) + 4:
            raise ValueError(f"a line break in {method!r} {path!r} or in one of the headers {list(headers)!r}")
        waiter: asyncio.Future[Reply] = self._loop.create_future()
        self._waiters.append(waiter)
        self._transport.write(head.encode() + body)
        return waiter

    def _fail_waiters(self, reason: str) -> None:
        self._usable = False
        started = self._reader.started
        waiters, self._waiters = self._waiters, deque()
        for waiter in waiters:
            if not waiter.done():
                message = f"the connection to {self._peer} was lost: {reason}"
                waiter.set_exception(ConnectionLostError(message, sent=True, reply_started=started))
            started = False  # Only the oldest request's reply can have begun.

    def data_received(self, data: bytes) -> None:
        """Parses what arrived; replies go to their waiters from inside."""
        try:
            self._reader.feed(data)
        except BadReplyError as error:
            self._abort(str(error))

    def _on_reply(self, reply: Reply, keep_alive: bool) -> None:
        if not self._waiters:
            self._abort(f"a reply {reply.status} to no request")
            return
        waiter = self._waiters.popleft()
        if not waiter.done():
            waiter.set_result(reply)
        if not keep_alive:
            self._abort("the peer asked for its end (Connection: close)")
        elif self._retired and not self._waiters:
            self._abort("left for another one")
