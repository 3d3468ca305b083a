"""Connections that take requests: how many at once, when to read on, and when it is over."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import ClassVar, Final, Generic, Protocol, TypeVar

from app.errors import OverloadedError, StepError
from deployments.listener.connection import Connection
from deployments.listener.port import Connections

MAX_UNDER_WAY: Final = 256
"""Requests of one connection under way; then it is read no further until replies have left."""

Request = TypeVar("Request")
Read_co = TypeVar("Read_co", covariant=True)


class Reader(Protocol[Read_co]):
    """Splits a connection's bytes into requests."""

    @property
    def failure(self) -> StepError | None:
        """Why the connection is beyond use; None while it is good."""

    @property
    def partial(self) -> bool:
        """Whether a request has begun to come that is not whole yet."""

    @property
    def held_bytes(self) -> int:
        """Bytes of a request that is not whole yet."""

    def feed(self, data: bytes) -> Sequence[Read_co]:
        """Returns the requests that these bytes complete."""

    def refuse(self, error: StepError) -> None:
        """Lets the request go that has begun, and reads nothing more; the error is the failure from now on."""


class RequestConnection(Connection, ABC, Generic[Request]):
    """A connection that takes requests; a bounded number of them is under way, the others wait unread."""

    __slots__ = ("_held_bytes", "_last_taken", "_reader", "_reading", "_waiting")

    most_under_way: ClassVar[int] = MAX_UNDER_WAY
    """Requests under way; then it is read no further until replies have left."""

    def __init__(self, port: Connections, reader: Reader[Request]) -> None:
        super().__init__(port)
        self._reader = reader
        self._waiting: deque[Request] = deque()
        """Requests that came in one piece with too many others."""
        self._reading = True
        self._held_bytes = 0
        """Bytes of a request that is not whole yet, as they are counted for all connections."""
        self._last_taken = False
        """Whether the last request is there: what follows is neither run nor answered."""

    def data_received(self, data: bytes) -> None:
        """Begins to answer the requests that these bytes complete."""
        self._fed += len(data)
        if self._last_taken:
            return
        requests = self._reader.feed(data)
        if self._reader.held_bytes != self._held_bytes:
            self._hold(self._reader.held_bytes)
        for request in requests:
            self._taken += 1
            if self._waiting or self._under_way() >= self.most_under_way:
                self._waiting.append(request)
            else:
                self._begin(request)
                if self._last_taken:
                    return
        if self._reader.failure is not None and not self._waiting:
            self._take_last(self._reader.failure)
        if self._under_way() >= self.most_under_way or not self._reading:
            self._regulate()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the transport, and what had come of a request."""
        self._count_held(0)
        super().connection_lost(exc)

    def eof_received(self) -> bool:
        """Keeps the connection until the requests under way are answered."""
        self._peer_ended = True
        if not self._waiting:
            self._last_taken = True
        return self._busy()

    def pause_writing(self) -> None:
        """Reads no further while the peer does not read its replies."""
        self._blocked_s = self._port.loop.time()
        self._regulate()

    def resume_writing(self) -> None:
        """Reads on."""
        self._blocked_s = None
        self._regulate()

    @abstractmethod
    def _begin(self, request: Request) -> None:
        """Starts to answer a request."""

    @abstractmethod
    def _refuse(self, error: StepError) -> None:
        """Answers bytes that are no request; the connection ends once all is answered."""

    @abstractmethod
    def _under_way(self) -> int:
        """Returns how many requests have been begun whose reply has not left."""

    def _hold(self, held_bytes: int) -> None:
        """Counts what has come of a request; refuses it where it grows beyond what all connections may hold."""
        grows = held_bytes > self._held_bytes
        if self._count_held(held_bytes) or not grows:
            return
        self._port.counts["partial_refused"] += 1
        most_mb = self._port.partial.most_bytes / 2**20
        self._reader.refuse(OverloadedError(f"requests that are not whole yet hold the {most_mb:g} MiB that they may"))
        self._count_held(self._reader.held_bytes)

    def _count_held(self, held_bytes: int) -> bool:
        fits = self._port.partial.change(held_bytes - self._held_bytes)
        self._held_bytes = held_bytes
        return fits

    def _replied(self) -> None:
        """Begins requests that wait, now that a reply has left, and ends the connection behind the last one."""
        while self._waiting and not self._last_taken and self._under_way() < self.most_under_way:
            self._begin(self._waiting.popleft())
        if not self._waiting and not self._last_taken:
            if self._reader.failure is not None:
                self._take_last(self._reader.failure)
            elif self._peer_ended:
                self._last_taken = True
        if self._last_taken and self._under_way() == 0:
            self._end()
        elif not self._reading:
            self._regulate()

    def _take_last(self, error: StepError) -> None:
        self._last_taken = True
        self._refuse(error)
        if self._under_way() == 0:
            self._end()

    def _busy(self) -> bool:
        return self._under_way() > 0 or bool(self._waiting)

    def _partial(self) -> bool:
        return self._reading and not self._last_taken and self._reader.partial

    def _regulate(self) -> None:
        """Reads on unless the peer leaves its replies unread or too many requests are under way."""
        if self._transport is None or self._transport.is_closing():
            return
        most = self.most_under_way if self._reading else self.most_under_way // 2
        may_read = self._last_taken or (self._blocked_s is None and not self._waiting and self._under_way() < most)
        if may_read and not self._reading:
            self._transport.resume_reading()
        elif self._reading and not may_read:
            self._transport.pause_reading()
        self._reading = may_read
