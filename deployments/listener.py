"""The game port: bytes of a connection to steps, replies back in the order of the requests."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from app.errors import AgentError, StepError
from app.wire.http import HttpReader, HttpReply, HttpRequest, refusal

MAX_PIPELINED: Final = 256
"""Requests of one connection under way; then it is read no further until replies have left."""

LINGER_S: Final = 2.0
"""Longest wait for the peer to close after the last reply; closing on bytes that are unread would reset it away."""

Answer = Callable[[HttpRequest], Awaitable[HttpReply]]
"""Answers a request, or raises a ``StepError``."""

_log = logging.getLogger(__name__)


class _Slot:
    """Place of one reply in the order of a connection."""

    __slots__ = ("close", "reply")

    def __init__(self, *, close: bool) -> None:
        self.close = close
        self.reply: bytes | None = None


class Connections:
    """All open connections of a listener, and the tasks that answer them."""

    def __init__(self, answer: Answer, max_body_bytes: int) -> None:
        self.answer = answer
        self.max_body_bytes = max_body_bytes
        self.open: set[GameConnection] = set()
        self.draining = False
        self._tasks: set[asyncio.Task[None]] = set()

    def connection(self) -> "GameConnection":
        """Returns the protocol of a new connection."""
        return GameConnection(self)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs a task that is awaited by ``finish``."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self, timeout_s: float) -> None:
        """Waits until all requests under way are answered, at most ``timeout_s``, and closes all connections."""
        self.draining = True
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + timeout_s
        while self._tasks and (left_s := deadline_s - loop.time()) > 0:
            await asyncio.wait(self._tasks, timeout=left_s)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in list(self.open):
            connection.close()


class GameConnection(asyncio.Protocol):
    """One connection of a game core."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._reader = HttpReader(connections.max_body_bytes)
        self._slots: deque[_Slot] = deque()
        self._transport: asyncio.Transport | None = None
        self._reading = True
        self._writable = True
        """Whether the peer reads its replies."""
        self._last_taken = False
        """Whether the last request is there: what follows is neither run nor answered."""
        self._peer_ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Notes the transport."""
        self._transport = transport  # type: ignore[assignment]
        self._connections.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the transport; steps under way run to their end, so that a retry finds their replies."""
        self._transport = None
        self._connections.open.discard(self)

    def data_received(self, data: bytes) -> None:
        """Starts to answer the requests that these bytes complete."""
        requests = [] if self._last_taken else self._reader.feed(data)
        for request in requests:
            slot = _Slot(close=self._connections.draining or not request.keep_alive)
            self._slots.append(slot)
            self._connections.spawn(self._answer(slot, request))
            if slot.close:
                self._last_taken = True
                break
        if self._reader.failure is not None and not self._last_taken:
            self._last_taken = True
            self._refuse(self._reader.failure)
        self._regulate()

    def eof_received(self) -> bool:
        """Keeps the connection until the requests under way are answered."""
        self._last_taken = self._peer_ended = True
        return bool(self._slots)

    def pause_writing(self) -> None:
        """Reads no further while the peer does not read its replies."""
        self._writable = False
        self._regulate()

    def resume_writing(self) -> None:
        """Reads on."""
        self._writable = True
        self._regulate()

    def close(self) -> None:
        """Closes the connection after what is written has left."""
        if self._transport is not None:
            self._transport.close()

    async def _answer(self, slot: _Slot, request: HttpRequest) -> None:
        try:
            reply = await self._connections.answer(request)
        except StepError as error:
            reply = refusal(error)
        except Exception as error:  # noqa: BLE001  # A bug of ours: the log has it, the game core an answer.
            _log.exception("a request failed: %s %s", request.method, request.path)
            reply = refusal(AgentError(f"the service failed: {type(error).__name__}"))
        slot.reply = reply.encoded(close=slot.close, head_only=request.method == b"HEAD")
        self._flush()

    def _flush(self) -> None:
        """Writes the replies whose turn it is."""
        ready: list[bytes] = []
        while self._slots and self._slots[0].reply is not None:
            ready.append(self._slots.popleft().reply)  # type: ignore[arg-type]
        if self._transport is None or not ready:
            return
        self._transport.write(b"".join(ready) if len(ready) > 1 else ready[0])
        if self._last_taken and not self._slots:
            self._end(self._transport)
        else:
            self._regulate()

    def _refuse(self, error: StepError) -> None:
        """Answers bytes that are no request, after what came before them, and closes."""
        slot = _Slot(close=True)
        slot.reply = refusal(error).encoded(close=True)
        self._slots.append(slot)
        self._flush()

    def _end(self, transport: asyncio.Transport) -> None:
        """Closes once the peer does, so that it can read the last reply whatever it is still sending."""
        if self._peer_ended or transport.is_closing():
            transport.close()
        else:
            transport.write_eof()
            asyncio.get_running_loop().call_later(LINGER_S, self.close)

    def _regulate(self) -> None:
        """Reads on unless the peer leaves its replies unread or too many requests are under way."""
        if self._transport is None or self._transport.is_closing():
            return
        most = MAX_PIPELINED if self._reading else MAX_PIPELINED // 2
        may_read = self._last_taken or (self._writable and len(self._slots) < most)
        if may_read and not self._reading:
            self._transport.resume_reading()
        elif self._reading and not may_read:
            self._transport.pause_reading()
        self._reading = may_read
