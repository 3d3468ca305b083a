"""An agent whose every move is the test's, and a table around it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import count
from typing import ClassVar

import orjson

from app.sessions.blackboard import Board
from app.sessions.limits import Limits
from app.sessions.roles import Guard, Save
from app.sessions.session import EndCause
from app.sessions.table import SessionTable
from app.sessions.times import TimesOf
from app.types import Purpose, SessionId, StepKind, Version
from app.wire.payload import Codec, CodecKind, Payload, codec_of
from app.wire.steps import Body, Credentials, JsonBody, StepReply, StepRequest
from app.wire.trees import Tree


class FakeAgent:
    """Echoes what it is told; fails, waits or answers something else when told to."""

    codec: ClassVar[CodecKind] = "json"

    def __init__(self, session: SessionId, purpose: Purpose) -> None:
        self.session, self.purpose = session, purpose
        self.version: Version | None = None
        self.calls: list[tuple[str, Payload]] = []
        self.ends: list[EndCause] = []
        self.running = 0
        self.overlapped = False
        self.failure: Exception | None = None
        """Raised by every call."""
        self.gate: asyncio.Event | None = None
        """Every call waits for it."""
        self.entered = asyncio.Event()
        """Set when a call has begun."""
        self.answer: Payload | None = None
        """In place of the echo."""
        self.late_answer: Payload | None = None
        """To a tick whose time is up; None has none."""
        self.missed: list[int | None] = []
        """What it was told of missing ticks."""

    async def on_start(self, options: Payload) -> Payload:
        return await self._call("start", options)

    async def on_tick(self, payload: Payload) -> Payload:
        return await self._call("tick", payload)

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        self.ends.append(cause)
        return await self._call("end", payload)

    def on_deadline(self, payload: Payload) -> Payload:
        if self.late_answer is None:
            raise NotImplementedError
        return self.late_answer

    def on_resume(self, missed: int | None) -> None:
        self.missed.append(missed)

    def state_dict(self) -> Tree:
        return {"ticks": list(self.ticks)}

    async def load_state_dict(self, state: Tree) -> None:
        self.calls += [("tick", tick) for tick in state["ticks"]]

    def payloads(self) -> Codec:
        return codec_of(type(self))

    @property
    def ticks(self) -> list[Payload]:
        """What it was told in its ticks, in order."""
        return [payload for name, payload in self.calls if name == "tick"]

    async def _call(self, name: str, payload: Payload) -> Payload:
        self.overlapped |= self.running > 0
        self.running += 1
        self.entered.set()
        try:
            if self.gate is not None:
                await self.gate.wait()
            if self.failure is not None:
                raise self.failure
            self.calls.append((name, payload))
            return {"echo": payload} if self.answer is None else self.answer
        finally:
            self.running -= 1


class BytesAgent(FakeAgent):
    """Reads and writes bytes."""

    codec = "bytes"

    async def _call(self, name: str, payload: Payload) -> Payload:
        await super()._call(name, payload)
        return payload


class Table:
    """A session table with a clock that the test moves, and all agents that it made."""

    def __init__(
        self,
        *,
        max_games: int = 100,
        idle_timeout_s: float = 60,
        step_timeout_s: float = 20,
        make: Callable[[SessionId, Purpose], FakeAgent] = FakeAgent,
        claim: Callable[[str], Awaitable[int]] | None = None,
        save: Save | None = None,
        snapshot_every_ticks: int | None = None,
        guard: Guard | None = None,
        times: TimesOf | None = None,
    ) -> None:
        self.now_s = 1000.0
        self.made: list[FakeAgent] = []
        self.counts: Counter[str] = Counter()
        minted = count(1)

        self.boards: dict[SessionId, Board] = {}

        def make_and_note(session: SessionId, purpose: Purpose, board: Board) -> FakeAgent:
            self.made.append(make(session, purpose))
            self.boards[session] = board
            return self.made[-1]

        self.table = SessionTable(
            make_and_note,
            Limits(
                max_games,
                idle_timeout_s,
                step_timeout_s,
                board_timeout_s=5,
                snapshot_every_ticks=snapshot_every_ticks,
            ),
            Purpose.TRAIN,
            lambda: f"minted-{next(minted)}",
            lambda: self.now_s,
            self.counts,
            claim,
            save,
            guard,
            times,
        )

    def agent(self, session: SessionId) -> FakeAgent:
        """Returns the newest agent of a session."""
        return next(agent for agent in reversed(self.made) if agent.session == session)

    async def step(
        self,
        kind: str,
        session: str = "s",
        body: Body = JsonBody(None),  # noqa: B008  # A value.
        *,
        seq: int | None = None,
        deadline_ms: float | None = None,
        purpose: Purpose | None = None,
        key: str | None = None,
    ) -> StepReply:
        who = None if key is None else Credentials(key)
        return await self.table.step(StepRequest(session, StepKind(kind), body, purpose, seq, deadline_ms, who))

    async def start(self, session: str = "s", **more: int) -> StepReply:
        return await self.step("start", session, **more)

    async def tick(self, number: int, session: str = "s", **more: int) -> object:
        """Returns what the agent answered to a number."""
        reply = await self.step("tick", session, JsonBody(number), **more)
        return orjson.loads(reply.body) if reply.is_json else reply.body

    async def stop(self, session: str = "s", **more: int) -> StepReply:
        return await self.step("stop", session, JsonBody("over"), **more)


async def turns(number: int = 10) -> None:
    """Lets whatever is ready run."""
    for _ in range(number):
        await asyncio.sleep(0)
