"""One kept connection to another replica, which carries steps: replies come in any order, and cost no task."""

import asyncio
from typing import Final, cast

from app.client.kept import ConnectionLostError, KeptConnection, opened
from app.errors import OverloadedError, StepError
from app.wire.steps import StepReply, StepRequest
from deployments.joined import JoinedWriter
from deployments.peer_wire import PeerReply, PeerReplyReader, greeting_frame, request_frame

MAX_IN_FLIGHT: Final = 4096
"""Steps that may wait for one replica; further ones are refused as ``overloaded``."""
MAX_UNSENT_BYTES: Final = 64 * 2**20
"""Bytes that may wait to leave for one replica; while there are more, steps are refused as ``overloaded``."""
SWEEP_S: Final = 0.25
"""Seconds between two looks for steps whose time is up: one timer serves them all."""


class PeerLink(KeptConnection):
    """A connection to one replica, whose frames of one turn of the loop leave together."""

    def __init__(self, peer: str, secret: str) -> None:
        super().__init__(peer)
        self._secret = secret
        self._waiters: dict[int, tuple[asyncio.Future[StepReply], float, float]] = {}
        """By number: who waits, since when, and until when."""
        self._reader = PeerReplyReader()
        self._writer: JoinedWriter | None = None
        self._full = False
        self._number = 0
        self._heard_s = 0.0
        """When the last bytes came."""
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    async def open(cls, host: str, port: int, secret: str, *, timeout_s: float) -> "PeerLink":
        """Returns a new link to the peer port ``host:port``.

        Raises:
          ConnectionLostError: Nobody accepts connections there within ``timeout_s``.
        """
        return await opened(lambda peer: cls(peer, secret), host, port, timeout_s)

    @property
    def in_flight(self) -> int:
        """Returns how many steps wait; those given up by their caller count until their reply comes or is overdue."""
        return len(self._waiters)

    def send(self, step: StepRequest, timeout_s: float, *, via_gateway: bool = False) -> asyncio.Future[StepReply]:
        """Returns the reply that will come; its waiter may be cancelled, and the reply is then dropped.

        Its exception is the owner's ``StepError``, or a ``ConnectionLostError`` where the link ended first or
        ``timeout_s`` passed; a late reply holds up no other.

        Raises:
          ConnectionLostError: The link is closed; nothing was sent.
          OverloadedError: Too much is under way already; nothing was sent.
          StepError: The step cannot be forwarded.
        """
        writer = self._writer
        if not self._usable or writer is None:
            raise ConnectionLostError(f"the link to {self._peer} is closed", sent=False)
        if self._full or len(self._waiters) >= MAX_IN_FLIGHT:
            raise OverloadedError(f"the link to {self._peer} is full: {len(self._waiters)} steps wait for replies")
        self._number = number = self._number + 1
        message = request_frame(number, step, via_gateway=via_gateway)
        waiter: asyncio.Future[StepReply] = self._loop.create_future()
        now_s = self._loop.time()
        self._waiters[number] = waiter, now_s, now_s + timeout_s
        if self._timer is None:
            self._timer = self._loop.call_later(SWEEP_S, self._sweep)
        writer.write(message)
        return waiter

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greets the peer."""
        super().connection_made(transport)
        taken = cast("asyncio.Transport", transport)
        taken.set_write_buffer_limits(MAX_UNSENT_BYTES)
        self._writer = JoinedWriter(self._loop, taken)
        self._writer.write(greeting_frame(self._secret))

    def data_received(self, data: bytes) -> None:
        """Hands replies to their waiters."""
        self._heard_s = self._loop.time()
        for reply in self._reader.feed(data):
            self._take(reply)
        if self._reader.failure is not None:
            self._abort(str(self._reader.failure))

    def pause_writing(self) -> None:
        """Refuses steps while too much waits to leave."""
        self._full = True

    def resume_writing(self) -> None:
        """Takes steps again."""
        self._full = False

    def _take(self, reply: PeerReply) -> None:
        waiting = self._waiters.pop(reply.number, None)
        if waiting is None or waiting[0].done():
            return  # Its caller has been cancelled, or its time was up.
        if isinstance(reply.answer, StepError):
            waiting[0].set_exception(reply.answer)
        else:
            waiting[0].set_result(reply.answer)

    def _sweep(self) -> None:
        """Gives up steps whose time is up, and the whole link where nothing has come since one of them left."""
        self._timer = None
        now_s = self._loop.time()
        overdue = [number for number, (_, _, until_s) in self._waiters.items() if until_s <= now_s]
        for number in overdue:
            waiter, since_s, until_s = self._waiters[number]
            reason = f"no reply within {until_s - since_s:g} s"
            if self._heard_s < since_s:
                self._abort(reason)
                return
            del self._waiters[number]
            if not waiter.done():
                waiter.set_exception(ConnectionLostError(f"{self._peer}: {reason}", sent=True))
        if self._waiters:
            self._timer = self._loop.call_later(SWEEP_S, self._sweep)

    def _fail_waiters(self, reason: str) -> None:
        self._usable = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiters, self._waiters = self._waiters, {}
        for waiter, _, _ in waiters.values():
            if not waiter.done():
                message = f"the connection to {self._peer} was lost: {reason}"
                waiter.set_exception(ConnectionLostError(message, sent=True))
