"""One agent's side of a game: steps in order, each answered once."""

import asyncio
from enum import StrEnum
from typing import Final, Protocol

from app.errors import OverloadedError, SeqGapError, StaleSeqError
from app.sessions.blackboard import Board
from app.sessions.deadlines import Limit
from app.sessions.game import Game
from app.sessions.replies import Replies
from app.sessions.times import TickTimes
from app.types import Purpose, SessionId, StepKind, Version
from app.wire.delta import DeltaState
from app.wire.payload import Codec, Payload
from app.wire.steps import Body, JsonBody, StepReply, StepRequest, body_bytes
from app.wire.trees import Tree

GAP_WAIT_S: Final = 1.0
"""Longest wait of a step for the one before it, which another connection may bring."""
RESUME_WAIT_S: Final = 0.2
"""Wait of the steps that come first after a restore, so that the earliest of them is played first."""
WAITING_MAX: Final = 256
"""Steps of one session that may wait; as many as one connection may have under way."""


class EndCause(StrEnum):
    """Why an episode is over."""

    STOP = "stop"
    """The game core said so."""
    IDLE = "idle"
    """No step came for too long."""
    RESTARTED = "restarted"
    """The game core started the session anew."""
    SHUTDOWN = "shutdown"
    """The service goes away."""


class SessionAgent(Protocol):
    """What a session needs of the agent behind it."""

    def payloads(self) -> Codec:
        """Returns what translates between bodies and what it reads and writes."""

    @property
    def version(self) -> Version | None:
        """Returns the weights behind the last answer; None where no model was asked."""

    async def on_start(self, options: Payload) -> Payload:
        """Begins an episode."""

    async def on_tick(self, payload: Payload) -> Payload:
        """Answers one tick."""

    def on_deadline(self, payload: Payload) -> Payload:
        """Answers a tick whose time is up.

        Raises:
          NotImplementedError: The agent has no such answer.
        """

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        """Ends the episode; the payload is None unless the game core stopped it."""

    def on_resume(self, missed: int | None) -> None:
        """Learns that so many ticks are missing between its state and the next tick; None: nobody knows how many."""

    def state_dict(self) -> Tree:
        """Returns all that the next tick depends on."""

    async def load_state_dict(self, state: Tree) -> None:
        """Takes over the state of another replica's agent."""


class Session:
    """State of one session; its lock keeps its steps in order of arrival."""

    __slots__ = (
        "_accepted",
        "_codec",
        "_gaps",
        "_waiting",
        "agent",
        "board",
        "delta",
        "game",
        "id",
        "key",
        "lock",
        "purpose",
        "replies",
        "resumed_at",
        "saved_seq",
        "seq",
        "started",
        "ticks_key",
        "times",
        "used_at_s",
    )

    def __init__(
        self,
        session_id: SessionId,
        game: Game,
        agent: SessionAgent,
        board: Board,
        purpose: Purpose,
        now_s: float,
        times: TickTimes | None = None,
    ) -> None:
        self.id = session_id
        self.game = game
        self.agent = agent
        self.board = board
        self.purpose = purpose
        self.key: str | None = None
        """Name of the key that it was started under; None where nobody needs one."""
        self.ticks_key = f"ticks_{purpose}"
        """Name of the counter of its ticks."""
        self.times = times
        """Takes how long its ticks wait and last; None measures nothing."""
        self.lock = asyncio.Lock()
        self.seq = 0
        """Steps answered since the start."""
        self.started = StepReply(session_id, b"", 0)
        """Reply to the start, for a retry of it."""
        self.used_at_s = now_s
        self.replies = Replies()
        self._codec = agent.payloads()
        self.delta = DeltaState(self._codec)
        self.saved_seq = 0
        """Steps that the newest snapshot knows."""
        self.resumed_at: int | None = None
        """Steps that the snapshot knew from which the session goes on; None once a step was answered since."""
        self._accepted = 0
        """Highest number up to which all steps have arrived."""
        self._gaps: dict[asyncio.Future[None], int] | None = None
        self._waiting = 0

    def idle_since(self, then_s: float) -> bool:
        """Returns whether no step ran since ``then_s``; a running step counts as use."""
        return not self.lock.locked() and self.used_at_s <= then_s

    async def in_turn(self, seq: int | None) -> None:
        """Waits for the steps before this one, where they have not arrived yet.

        Raises:
          SeqGapError: They did not arrive in time.
          OverloadedError: Too many steps wait.
        """
        if self._waiting >= WAITING_MAX:
            raise OverloadedError(f"{self._waiting} steps of session {self.id!r} wait, as many as may")
        if seq is None or seq <= self._accepted:
            return
        if seq > self._accepted + 1:
            await self._gap_closed(seq)
        self._accept(seq)

    def may_play(self, seq: int | None) -> bool:
        """Returns whether the step is the next one or has been answered; asked by who holds the lock."""
        return seq is None or seq <= self.seq + 1 or self.resumed_at is not None

    def replayed(self, seq: int | None) -> StepReply | None:
        """Returns the reply that this sequence number has had already; None where it is the next one.

        Raises:
          StaleSeqError: The reply is no longer kept.
        """
        if seq is None or seq > self.seq:
            return None
        reply = self.replies.get(seq)
        if reply is None:
            raise StaleSeqError(
                f"seq is {seq}; of session {self.id!r} only the newest replies up to {self.seq} are kept"
            )
        return reply

    async def tick(self, request: StepRequest, limit: Limit) -> StepReply:
        """Returns the agent's answer, or what it answers where the time is up before."""
        self._go_on(request.seq)
        payload = self._payload(request)
        self.board.enter()
        try:
            return self._ticked(await self.agent.on_tick(payload), payload, request.kind)
        except asyncio.CancelledError:
            if not limit.expired():
                raise
            try:
                late = self.agent.on_deadline(payload)
            except NotImplementedError:
                late = None
            if late is None:
                raise
            return self._ticked(late, payload, request.kind)
        finally:
            self.board.leave()

    async def start(self, body: Body) -> StepReply:
        """Begins the episode."""
        payload = self._codec.decode(body, StepKind.START)
        self.started = self._reply(await self.agent.on_start(payload), StepKind.START, 0)
        return self.started

    async def stop(self, request: StepRequest) -> StepReply:
        """Ends the episode as the game core says."""
        self._go_on(request.seq)
        payload = self._payload(request)
        return self._answered(await self.agent.on_episode(payload, EndCause.STOP), StepKind.STOP)

    async def close(self, cause: EndCause) -> None:
        """Ends the episode from our side."""
        await self.agent.on_episode(None, cause)

    def failed(self) -> None:
        """Notes that a step was not answered: those behind it wait until it is repeated."""
        self._accepted = self.seq

    def queued(self, change: int) -> None:
        """Counts the steps that wait for the lock."""
        self._waiting += change

    def wake(self) -> None:
        """Lets all that wait for an earlier step look again, since the session is over."""
        for waiter in self._gaps or ():
            if not waiter.done():
                waiter.set_result(None)

    def resume(self, seq: int) -> None:
        """Sets where the session goes on after a hand-over."""
        self.seq = self.saved_seq = self._accepted = seq

    def _go_on(self, seq: int | None) -> None:
        """Accepts the jump of the first step after a restore: what was played since the snapshot is missing."""
        if self.resumed_at is None:
            return
        if seq is None or seq > self.seq + 1:
            self.agent.on_resume(None if seq is None else seq - 1 - self.seq)
            self.delta = DeltaState(self._codec)  # What a difference would differ from is missing.
        if seq is not None:
            self.seq = max(self.seq, seq - 1)

    def _accept(self, seq: int) -> None:
        self._accepted = max(self._accepted, seq)
        for waiter, wanted in list((self._gaps or {}).items()):
            if wanted <= self._accepted + 1 and not waiter.done():
                waiter.set_result(None)

    async def _gap_closed(self, seq: int) -> None:
        if self._gaps is None:
            self._gaps = {}
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._gaps[waiter] = seq
        self._waiting += 1
        try:
            while not waiter.done():
                restored = self.resumed_at is not None
                await asyncio.wait([waiter], timeout=RESUME_WAIT_S if restored else GAP_WAIT_S)
                if not waiter.done():
                    self._close_gap(seq, restored)
        finally:
            self._waiting -= 1
            del self._gaps[waiter]

    def _close_gap(self, seq: int, restored: bool) -> None:
        """Lets a restored game go on with the earliest step that waits; in any other a missing step is an error."""
        if not restored:
            raise SeqGapError(f"seq is {seq}; session {self.id!r} expects {self.seq + 1}")
        if self.resumed_at is not None:
            self._accept(min((self._gaps or {}).values()) - 1)

    def _payload(self, request: StepRequest) -> Payload:
        return self.delta.whole(self._codec.decode(request.body, request.kind), request.kind, request.delta)

    def _ticked(self, answer: Payload, payload: Payload, kind: StepKind) -> StepReply:
        reply = self._answered(answer, kind)
        self.delta.keep(payload)
        return reply

    def _answered(self, answer: Payload, kind: StepKind) -> StepReply:
        reply = self._reply(answer, kind, self.seq + 1)
        self.seq += 1
        self.resumed_at = None
        self.replies.add(reply)
        if self.seq > self._accepted:
            self._accept(self.seq)
        return reply

    def _reply(self, answer: Payload, kind: StepKind, seq: int) -> StepReply:
        body = self._codec.encode(answer, kind)
        is_json = isinstance(body, JsonBody)
        return StepReply(self.id, body_bytes(body), seq, self.agent.version, self.resumed_at, is_json=is_json)
