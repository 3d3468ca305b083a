"""All sessions of one replica: admission, order, idle games, drain."""

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol

from app.errors import (
    AgentError,
    DeadlineExceededError,
    DrainingError,
    OverloadedError,
    SessionExistsError,
    SessionUnknownError,
    StepError,
)
from app.sessions.ids import game_of
from app.sessions.session import EndCause, Session, SessionAgent
from app.types import Purpose, SessionId, StepKind
from app.wire.steps import StepReply, StepRequest

STOPPED_KEPT: Final = 10_000
"""Stopped sessions whose last reply is kept for a retry of the stop."""
STOPPED_KEPT_S: Final = 60.0
"""Seconds for which it is kept."""


_log = logging.getLogger(__name__)


class MakeAgent(Protocol):
    """Builds the agent of a session."""

    def __call__(self, session: SessionId, purpose: Purpose) -> SessionAgent:
        """Returns a new agent.

        Raises:
          StepError: No such agent plays here.
        """


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one table."""

    max_sessions: int
    idle_timeout_s: float
    step_timeout_s: float


class SessionTable:
    """Routes each step to its session; the clock and the agents come from outside."""

    def __init__(
        self,
        make_agent: MakeAgent,
        limits: Limits,
        default_purpose: Purpose,
        mint: Callable[[], SessionId],
        clock: Callable[[], float],
        counts: Counter[str],
        claim: Callable[[SessionId], Awaitable[None]] | None = None,
    ) -> None:
        """Makes an empty table.

        Args:
          make_agent: Builds the agent of a session.
          limits: Bounds of the table.
          default_purpose: Purpose of a start that names none.
          mint: Returns an id that nobody has.
          clock: Returns seconds that never go back.
          counts: Where steps, starts, stops and errors by code are counted.
          claim: Makes this replica the owner of a session, or raises a ``StepError``; None where there is but one.
        """
        self._make_agent = make_agent
        self._limits = limits
        self._default_purpose = default_purpose
        self._mint = mint
        self._clock = clock
        self._claim = claim
        self.sessions: dict[SessionId, Session] = {}
        """Open sessions."""
        self._stopped: OrderedDict[SessionId, tuple[float, StepReply]] = OrderedDict()
        self.draining = False
        self.ended: list[SessionId] = []
        """Sessions that are over and forgotten but still claimed; whoever reads it clears it."""
        self.counts = counts

    def __len__(self) -> int:
        return len(self.sessions)

    def __contains__(self, session: SessionId) -> bool:
        return session in self.sessions or session in self._stopped

    async def step(self, request: StepRequest) -> StepReply:
        """Returns the answer to one step; errors are counted by code.

        Raises:
          StepError: Whatever keeps the step from being answered.
        """
        limit_s = self._limits.step_timeout_s
        if request.deadline_ms is not None:
            limit_s = min(limit_s, request.deadline_ms / 1000)
        limit = asyncio.timeout(limit_s)
        try:
            async with limit:
                return await self._step(request)
        except StepError as error:
            self.counts[error.code] += 1
            raise
        except Exception as error:
            if isinstance(error, TimeoutError) and limit.expired():
                self.counts[DeadlineExceededError.code] += 1
                message = f"{request.kind} of session {request.session!r} took longer than {limit_s:g} s"
                raise DeadlineExceededError(message) from error
            self.counts[AgentError.code] += 1
            raise AgentError(f"the agent failed: {type(error).__name__}: {error}") from error

    async def sweep(self) -> None:
        """Closes games without a step for too long as truncated, and forgets replies of long-stopped ones."""
        now_s = self._clock()
        for session in list(self.sessions.values()):
            if session.idle_since(now_s - self._limits.idle_timeout_s):  # Asked late: closing others takes its time.
                await self._close(session, EndCause.IDLE)
        while self._stopped and next(iter(self._stopped.values()))[0] < now_s - STOPPED_KEPT_S:
            self._forget_stopped()

    def games(self) -> set[SessionId]:
        """Returns the games that have an open session here, or one whose last reply is still kept."""
        return {game_of(session) for session in (*self.sessions, *self._stopped)}

    async def drain(self) -> int:
        """Refuses new games, ends the open ones as truncated and returns how many there were."""
        self.draining = True
        open_sessions = list(self.sessions.values())
        async with asyncio.TaskGroup() as group:
            for session in open_sessions:
                group.create_task(self._close(session, EndCause.SHUTDOWN))
        return len(open_sessions)

    async def _step(self, request: StepRequest) -> StepReply:
        if request.kind is StepKind.START:
            return await self._start(request)
        if request.kind is StepKind.AUTO:
            return await self._auto(request)
        while (session := self.sessions.get(request.session)) is not None:
            async with session.lock:
                if self._is_open(session):  # It may have ended, or begun anew, while this step waited.
                    return await self._answer(session, request)
        return self._of_stopped(request)

    async def _answer(self, session: Session, request: StepRequest) -> StepReply:
        session.used_at_s = self._clock()
        replayed = session.replayed(request.seq)
        if replayed is not None:
            return replayed
        try:
            if request.kind is StepKind.STOP:
                return await self._stop(session, request)
            reply = await session.tick(request.body)
        finally:
            session.used_at_s = self._clock()
        self.counts[session.ticks_key] += 1
        return reply

    async def _start(self, request: StepRequest) -> StepReply:
        while (existing := self.sessions.get(request.session)) is not None:
            async with existing.lock:
                if not self._is_open(existing):
                    continue
                if existing.seq == 0:  # A retry: nothing has happened since.
                    return existing.started
                if request.seq is not None:
                    raise SessionExistsError(f"session {existing.id!r} has played {existing.seq} steps; stop it first")
                await self._end(existing, EndCause.RESTARTED)
        if self.draining:
            raise DrainingError("this replica takes no new games; start again, on a new connection")
        if len(self.sessions) >= self._limits.max_sessions:
            raise OverloadedError(f"{len(self.sessions)} sessions are open, as many as are allowed")
        session_id = request.session or self._mint()
        purpose = request.purpose or self._default_purpose
        session = Session(session_id, self._make_agent(session_id, purpose), purpose, self._clock())
        return await self._begin(session, request)

    async def _begin(self, session: Session, request: StepRequest) -> StepReply:
        self.sessions[session.id] = session
        self._stopped.pop(session.id, None)
        async with session.lock:
            try:
                if self._claim is not None:
                    await self._claim(session.id)
                reply = await session.start(request.body)
            except BaseException:
                del self.sessions[session.id]
                self._note_end(session.id)
                raise
            session.used_at_s = self._clock()
        self.counts["starts"] += 1
        return reply

    async def _stop(self, session: Session, request: StepRequest) -> StepReply:
        try:
            reply = await session.stop(request.body)
        except StepError:
            raise  # The stop can be repeated.
        except Exception:  # The agent is broken, and the game core's game over: nothing would ever free its place.
            del self.sessions[session.id]
            self._note_end(session.id)
            raise
        del self.sessions[session.id]
        self._stopped[session.id] = (self._clock(), reply)
        if len(self._stopped) > STOPPED_KEPT:
            self._forget_stopped()
        self.counts["stops"] += 1
        return reply

    async def _auto(self, request: StepRequest) -> StepReply:
        agent = self._make_agent(request.session, Purpose.PLAY)
        session = Session(request.session, agent, Purpose.PLAY, self._clock())
        self.counts["autos"] += 1
        return await session.tick(request.body)

    async def _close(self, session: Session, cause: EndCause) -> None:
        async with session.lock:
            if self._is_open(session):
                await self._end(session, cause)

    async def _end(self, session: Session, cause: EndCause) -> None:
        """Ends an episode from our side; an agent that fails at it must not keep other games from their end."""
        del self.sessions[session.id]
        self._note_end(session.id)
        self.counts[f"closed_{cause}"] += 1
        try:
            async with asyncio.timeout(self._limits.step_timeout_s):
                await session.close(cause)
        except Exception:  # noqa: BLE001  # The user's agent may raise anything; no game core waits for an answer.
            self.counts[AgentError.code] += 1
            _log.exception("the agent of session %r failed when its episode was ended: %s", session.id, cause)

    def _is_open(self, session: Session) -> bool:
        return self.sessions.get(session.id) is session

    def _forget_stopped(self) -> None:
        session, _ = self._stopped.popitem(last=False)
        self._note_end(session)

    def _note_end(self, session: SessionId) -> None:
        if self._claim is not None:
            self.ended.append(session)

    def _of_stopped(self, request: StepRequest) -> StepReply:
        stopped = self._stopped.get(request.session)
        if stopped is not None and request.kind is StepKind.STOP:
            return stopped[1]
        raise SessionUnknownError(f"session {request.session!r} was not started here; send step_kind start first")
