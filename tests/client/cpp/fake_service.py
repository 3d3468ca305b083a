"""A service of the native protocol on a real socket, that answers what it was sent and fails on demand."""

import asyncio
import struct
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from app.wire.messages_pb2 import (
    KIND_AUTO,
    KIND_START,
    KIND_STOP,
    Answer,
    AnswerBatch,
    Credentials,
    Error,
    Reply,
    Request,
    Step,
)

if TYPE_CHECKING:
    from collections.abc import Callable

REPLIES_KEPT = 8
GAP_S = 1.0
WAIT_S = 20.0

RETRY_AFTER_S = {"overloaded": 1, "draining": 1}


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request; the names say when in its course."""

    cut_before: bool = False
    cut_after: bool = False
    silent: bool = False
    delay_s: float = 0.0
    held: asyncio.Event | None = None
    """The reply waits until it is set."""
    raw: bytes | None = None
    """Sent in place of the reply's frame."""
    code: str = ""
    """Every step is refused with it."""
    retry_after_s: int | None = None


FINE = Fault()


@dataclass
class Played:
    """What a session has seen."""

    purpose: int
    options: bytes
    steps: list[tuple[int, bytes]] = field(default_factory=list)
    """Number and body of each step that was played."""
    replies: dict[int, Answer] = field(default_factory=dict)
    seq: int = 0
    resumed_at: int | None = None
    moved: asyncio.Event = field(default_factory=asyncio.Event)


class FakeService:
    """Plays steps by their numbers as the contract says: once each, in order, the newest replies kept."""

    def __init__(self) -> None:
        self.sessions: dict[str, Played] = {}
        self.fault: Callable[[int, Request], Fault] = lambda _, __: FINE
        """What becomes of a request, by its number from 1."""
        self.refuse: Callable[[Step], str] = lambda _: ""
        """Code that a step is refused with, before it is played."""
        self.requests: list[Request] = []
        self.credentials: list[Credentials] = []
        self.connections: list[asyncio.StreamWriter] = []
        self.turn_away = 0
        """So many connections are closed at once."""
        self.protocol = 1
        self.port = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._minted: dict[str, str] = {}
        self._numbers = count(1)
        self._arrived = asyncio.Condition()

    async def listen(self, port: int = 0) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def refuse_connections(self) -> None:
        """Stops listening; connections that are open stay."""
        assert self._server is not None
        self._server.close()

    async def until(self, requests: int) -> None:
        """Returns once so many requests have come."""
        async with asyncio.timeout(WAIT_S), self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= requests)

    def cut_all(self) -> None:
        for writer in self.connections:
            writer.transport.abort()

    async def close(self) -> None:
        await self.refuse_connections()
        self.cut_all()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(writer)
        if self.turn_away > 0:
            self.turn_away -= 1
            writer.transport.abort()
            return
        try:
            while True:
                (size,) = struct.unpack(">I", await reader.readexactly(4))
                request = Request.FromString(await reader.readexactly(size))
                self._keep(asyncio.create_task(self._answer(request, writer)))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        assert request.protocol == 1
        self.requests.append(request)
        self.credentials.append(request.credentials)
        async with self._arrived:
            self._arrived.notify_all()
        fault = self.fault(next(self._numbers), request)
        if fault.cut_before:
            writer.transport.abort()
            return
        steps = request.batch.steps if request.HasField("batch") else [request.step]
        answers = [self._error(fault.code, fault.retry_after_s) if fault.code else await self._step(s) for s in steps]
        if fault.delay_s:
            await asyncio.sleep(fault.delay_s)
        if fault.held is not None:
            await fault.held.wait()
        if fault.cut_after:
            writer.transport.abort()
        if fault.silent or fault.cut_after:
            return
        reply = Reply(request_id=request.request_id, protocol=self.protocol)
        if request.HasField("batch"):
            reply.batch.CopyFrom(AnswerBatch(answers=answers))
        else:
            reply.answer.CopyFrom(answers[0])
        frame = framed(reply.SerializeToString()) if fault.raw is None else fault.raw
        writer.write(frame)

    async def _step(self, step: Step) -> Answer:
        code = self.refuse(step)
        if code:
            return self._error(code)
        if step.kind == KIND_AUTO:
            return Answer(body=step.body, json=True)
        if step.kind == KIND_START:
            return self._start(step)
        session = self.sessions.get(step.session)
        if session is None:
            return self._error("session_unknown")
        return await self._play(step, session)

    def _start(self, step: Step) -> Answer:
        name = step.session
        if not name:
            assert step.idempotency_key
            name = self._minted.setdefault(step.idempotency_key, f"minted-{len(self._minted)}")
        session = self.sessions.get(name)
        if session is not None and session.seq and session.steps[-1] != (KIND_STOP, b""):
            return self._error("session_exists")
        if session is None or session.seq:
            self.sessions[name] = Played(step.purpose, step.body)
        return Answer(session=name, body=b"null", endpoint=f"127.0.0.1:{self.port}")

    async def _play(self, step: Step, session: Played) -> Answer:
        end_s = asyncio.get_running_loop().time() + GAP_S
        while step.seq > session.seq + 1 and session.resumed_at is None:
            session.moved.clear()
            try:
                async with asyncio.timeout_at(end_s):
                    await session.moved.wait()
            except TimeoutError:
                return self._error("seq_gap")
        if step.seq <= session.seq:
            return session.replies.get(step.seq) or self._error("stale_seq")
        session.seq = step.seq
        session.steps.append((step.kind, step.body))
        answer = Answer(session=step.session, seq=step.seq, body=step.body, policy_version="1.2")
        if session.resumed_at is not None:
            answer.resumed_at, session.resumed_at = session.resumed_at, None
        session.replies[step.seq] = answer
        session.replies.pop(step.seq - REPLIES_KEPT, None)
        session.moved.set()
        return answer

    @staticmethod
    def _error(code: str, retry_after_s: int | None = None) -> Answer:
        wait_s = RETRY_AFTER_S.get(code, 0) if retry_after_s is None else retry_after_s
        return Answer(error=Error(code=code, message="by script", retry_after_s=wait_s))


def framed(message: bytes) -> bytes:
    return struct.pack(">I", len(message)) + message
