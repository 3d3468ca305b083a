"""Connections whose replies leave in the order of the requests."""

import asyncio
from abc import abstractmethod
from collections import deque
from collections.abc import Iterable

from deployments.listener.port import Connections
from deployments.listener.requests import Reader, Request, RequestConnection


class Slot:
    """Place of one reply in the order of a connection."""

    __slots__ = ("close", "reply", "task")

    def __init__(self, *, close: bool) -> None:
        self.close = close
        """Whether no reply follows this one."""
        self.reply: bytes | None = None
        """None while it is not there."""
        self.task: asyncio.Task[None] | None = None


class OrderedConnection(RequestConnection[Request]):
    """Answers requests at the same time, and sends the replies in the order of the requests."""

    __slots__ = ("_slots",)

    def __init__(self, port: Connections, reader: Reader[Request]) -> None:
        super().__init__(port, reader)
        self._slots: deque[Slot] = deque()

    def tasks(self) -> Iterable[asyncio.Task[None]]:
        """Returns the tasks that answer its requests."""
        return [slot.task for slot in self._slots if slot.task is not None and not slot.task.done()]

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
        if self._slots[0] is slot:
            self._flush()

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
            if not closed:
                ready.append(reply)
                closed = slots[0].close
            slots.popleft()
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
