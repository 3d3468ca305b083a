"""One kept connection to another process whose replies come in any order, by number, and cost no task."""

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar, Final, Generic, Protocol, TypeVar, cast

from app.client.kept import ConnectionLostError, KeptConnection
from app.errors import OverloadedError, StepError
from deployments.joined import JoinedWriter

MAX_IN_FLIGHT: Final = 4096
"""Requests that may wait for one process; further ones are refused as ``overloaded``."""
MAX_UNSENT_BYTES: Final = 64 * 2**20
"""Bytes that may wait to leave for one process; while there are more, requests are refused as ``overloaded``."""
SWEEP_S: Final = 0.25
"""Seconds between two looks for requests whose time is up: one timer serves them all."""

Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)


class Numbered(Protocol[Answer_co]):
    """A reply: what came of the request of that number."""

    @property
    def number(self) -> int:
        """Number of the request."""

    @property
    def answer(self) -> Answer_co | Exception:
        """The answer, or what is raised in its place."""


class Replies(Protocol[Answer_co]):
    """Cuts a connection's bytes into replies."""

    @property
    def failure(self) -> StepError | None:
        """Why the connection is beyond use; None while it is good."""

    def feed(self, data: bytes) -> Sequence[Numbered[Answer_co]]:
        """Returns the replies that these bytes complete."""


class FramedLink(KeptConnection, Generic[Answer]):
    """A connection to one process, whose frames of one turn of the loop leave together."""

    things: ClassVar[str] = "requests"
    """What it carries, for messages."""

    def __init__(self, peer: str, greeting: bytes, reader: Replies[Answer]) -> None:
        super().__init__(peer)
        self._greeting = greeting
        self._waiters: dict[int, tuple[asyncio.Future[Answer], float, float]] = {}
        """By number: who waits, since when, and until when."""
        self._reader = reader
        self._writer: JoinedWriter | None = None
        self._full = False
        self._number = 0
        self._heard_s = 0.0
        """When the last bytes came."""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def in_flight(self) -> int:
        """Returns how many requests wait; those given up by their caller count until their reply comes or is due."""
        return len(self._waiters)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greets the peer."""
        super().connection_made(transport)
        taken = cast("asyncio.Transport", transport)
        taken.set_write_buffer_limits(MAX_UNSENT_BYTES)
        self._writer = JoinedWriter(self._loop, taken)
        self._writer.write(self._greeting)

    def data_received(self, data: bytes) -> None:
        """Hands replies to their waiters."""
        self._heard_s = self._loop.time()
        for reply in self._reader.feed(data):
            self._take(reply)
        if self._reader.failure is not None:
            self._abort(str(self._reader.failure))

    def pause_writing(self) -> None:
        """Refuses requests while too much waits to leave."""
        self._full = True

    def resume_writing(self) -> None:
        """Takes requests again."""
        self._full = False

    def _send(self, encode: Callable[[int], bytes], timeout_s: float) -> asyncio.Future[Answer]:
        """Returns the answer that will come; its waiter may be cancelled, and the reply is then dropped.

        Its exception is what the peer has answered, or a ``ConnectionLostError`` where the link ended first or
        ``timeout_s`` passed; a late reply holds up no other.

        Args:
          encode: Returns the frame of the request, given its number; what it raises is raised here.
          timeout_s: Longest wait.

        Raises:
          ConnectionLostError: The link is closed; nothing was sent.
          OverloadedError: Too much is under way already; nothing was sent.
        """
        writer = self._writer
        if not self._usable or writer is None:
            raise ConnectionLostError(f"the link to {self._peer} is closed", sent=False)
        if self._full or len(self._waiters) >= MAX_IN_FLIGHT:
            waiting = len(self._waiters)
            raise OverloadedError(f"the link to {self._peer} is full: {waiting} {self.things} wait for replies")
        self._number = number = self._number + 1
        message = encode(number)
        waiter: asyncio.Future[Answer] = self._loop.create_future()
        now_s = self._loop.time()
        self._waiters[number] = waiter, now_s, now_s + timeout_s
        if self._timer is None:
            self._timer = self._loop.call_later(SWEEP_S, self._sweep)
        writer.write(message)
        return waiter

    def _take(self, reply: Numbered[Answer]) -> None:
        waiting = self._waiters.pop(reply.number, None)
        if waiting is None or waiting[0].done():
            return  # Its caller has been cancelled, or its time was up.
        answer = reply.answer
        if isinstance(answer, Exception):
            waiting[0].set_exception(answer)
        else:
            waiting[0].set_result(answer)

    def _sweep(self) -> None:
        """Gives up requests whose time is up, and the whole link where nothing has come since one of them left."""
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
