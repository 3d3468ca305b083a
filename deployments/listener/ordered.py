"""Connections whose replies leave in the order of the requests."""

import asyncio
from abc import abstractmethod
from collections import deque
from collections.abc import Iterable
from itertools import chain

from deployments.listener.port import Connections
from deployments.listener.requests import Reader, Request, RequestConnection


class Slot:
    """Place of one reply in the order of a connection."""

    __slots__ = ("close", "reply", "stream", "task", "turn")

    def __init__(self, *, close: bool) -> None:
        self.close = close
        """Whether no reply follows this one."""
        self.reply: bytes | None = None
        """None while it is not there."""
        self.stream: Iterable[bytes | memoryview] | None = None
        """Parts that follow the reply; None where it is whole."""
        self.turn: asyncio.Event | None = None
        """Set when all replies before it have left; there only while a stream waits for that."""
        self.task: asyncio.Task[None] | None = None


class OrderedConnection(RequestConnection[Request]):
    """Answers requests at the same time, and sends the replies in the order of the requests."""

    __slots__ = ("_resumed", "_slots")

    def __init__(self, port: Connections, reader: Reader[Request]) -> None:
        super().__init__(port, reader)
        self._slots: deque[Slot] = deque()
        self._resumed: asyncio.Future[None] | None = None
        """Done when the peer reads on, or is gone; there only while a stream waits for that."""

    def tasks(self) -> Iterable[asyncio.Task[None]]:
        """Returns the tasks that answer its requests."""
        return [slot.task for slot in self._slots if slot.task is not None and not slot.task.done()]

    def resume_writing(self) -> None:
        """Reads and streams on."""
        RequestConnection.resume_writing(self)
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the transport; a stream ends."""
        RequestConnection.connection_lost(self, exc)
        self._wake()

    @abstractmethod
    async def _reply(self, slot: Slot, request: Request) -> bytes:
        """Returns the reply; sets ``slot.close`` where no other may follow it."""

    @abstractmethod
    def _is_last(self, request: Request) -> bool:
        """Returns whether the connection ends with this request."""

    def _begin(self, request: Request) -> None:
        slot = Slot(close=self._is_last(request))
        self._last_taken = slot.close
        self._slots.append(slot)
        slot.task = self._port.loop.create_task(self._run(slot, request))

    async def _run(self, slot: Slot, request: Request) -> None:
        slot.reply = await self._reply(slot, request)
        if slot.stream is not None:
            await self._stream(slot, slot.stream)
        if self._slots and self._slots[0] is slot:
            self._flush()

    async def _stream(self, slot: Slot, parts: Iterable[bytes | memoryview]) -> None:
        """Sends a reply and its parts in their turn, as fast as the peer reads them; other connections go on."""
        if self._slots[0] is not slot:
            slot.turn = asyncio.Event()
            await slot.turn.wait()
        for part in chain((slot.reply or b"",), parts):
            if not await self._writable():
                break
            if self._transport is not None:
                self._transport.write(part)
            await asyncio.sleep(0)
        slot.reply, slot.stream = b"", None

    async def _writable(self) -> bool:
        """Waits until the peer has read what is written; returns False where the connection is over."""
        while self._blocked_s is not None and self._transport is not None:
            self._resumed = self._port.loop.create_future()
            await self._resumed
        return self._transport is not None and not self._transport.is_closing()

    def _wake(self) -> None:
        if self._resumed is not None and not self._resumed.done():
            self._resumed.set_result(None)

    def _put(self, reply: bytes, *, close: bool) -> None:
        """Sends a reply that is there already, in its turn."""
        slot = Slot(close=close)
        slot.reply = reply
        self._slots.append(slot)
        self._flush()

    def _flush(self) -> None:
        """Writes the replies whose turn it is."""
        slots = self._slots
        ready: list[bytes] = []
        closed = self._closing_s is not None or self._transport is None
        while slots and (reply := slots[0].reply) is not None:
            if slots[0].stream is not None and not closed:
                break  # It sends itself, and flushes on when it is through.
            if not closed:
                ready.append(reply)
                closed = slots[0].close
            _begin_turn(slots.popleft())
        if slots:
            _begin_turn(slots[0])
        if ready and self._transport is not None:
            self._transport.write(ready[0] if len(ready) == 1 else b"".join(ready))
        if closed:
            self._close_early()
        elif ready:
            self._replied()

    def _close_early(self) -> None:
        """Ends the connection though requests may be under way; these run to their end, and nobody hears of it."""
        self._last_taken = True
        self._waiting.clear()
        self._end()
        self._forget_if_done()

    def _under_way(self) -> int:
        return len(self._slots)


def _begin_turn(slot: Slot) -> None:
    if slot.turn is not None:
        slot.turn.set()
