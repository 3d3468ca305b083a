"""All games of one replica: admission, order, idle sessions, drain."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from app.errors import (
    AgentError,
    DeadlineExceededError,
    DrainingError,
    GameElsewhereError,
    OverloadedError,
    SessionExistsError,
    SessionUnknownError,
    StepError,
)
from app.sessions.blackboard import Board
from app.sessions.deadlines import Deadlines, Limit
from app.sessions.game import Game
from app.sessions.games import Games
from app.sessions.ids import game_of
from app.sessions.session import EndCause, Session, SessionAgent
from app.sessions.stopped import Stopped, StoppedSessions
from app.types import Purpose, SessionId, StepKind
from app.wire.steps import StepReply, StepRequest

_log = logging.getLogger(__name__)


class MakeAgent(Protocol):
    """Builds the agent of a session."""

    def __call__(self, session: SessionId, purpose: Purpose, board: Board) -> SessionAgent:
        """Returns a new agent.

        Raises:
          StepError: No such agent plays here.
        """


class Save(Protocol):
    """Keeps a snapshot of a session outside this process."""

    async def __call__(self, session: Session) -> None:
        """Returns once the snapshot is kept, or has failed for good."""


class Guard(Protocol):
    """Keeps sessions for the keys that started them."""

    def check(self, request: StepRequest) -> None:
        """Does nothing where the session is the key's.

        Raises:
          StepError: It is another's.
        """

    def place(self, request: StepRequest) -> str | None:
        """Returns the name of the key that one more session would belong to.

        Raises:
          StepError: That key may open no more.
        """

    def bind(self, session: SessionId, key: str | None) -> None:
        """Keeps an open session for a key."""

    def ended(self, session: SessionId) -> None:
        """Gives the place of a session back."""

    def was_of(self, session: SessionId, key: str | None) -> None:
        """Keeps the last reply of a session that is over for a key."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one table."""

    max_games: int
    idle_timeout_s: float
    step_timeout_s: float
    board_timeout_s: float = 5.0
    snapshot_every_ticks: int | None = None
    """Ticks of a session that may be lost with the replica; None keeps no snapshots."""


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
        claim: Callable[[str], Awaitable[int]] | None = None,
        save: Save | None = None,
        guard: Guard | None = None,
    ) -> None:
        """Makes an empty table.

        Args:
          make_agent: Builds the agent of a session.
          limits: Bounds of the table.
          default_purpose: Purpose of a start that names none.
          mint: Returns an id that nobody has.
          clock: Returns seconds that never go back.
          counts: Where steps, starts, stops and errors by code are counted.
          claim: Makes this replica the owner of a game and returns the claim's epoch, or raises a ``StepError``;
            None where there is nobody to ask.
          save: Keeps snapshots; None keeps none.
          guard: Keeps sessions for their keys; None where nobody needs one.
        """
        self._make_agent = make_agent
        self.limits = limits
        self._default_purpose = default_purpose
        self._mint = mint
        self._clock = clock
        self._save = save
        self._guard = guard
        self._deadlines = Deadlines(limits.step_timeout_s)
        self.sessions: dict[SessionId, Session] = {}
        """Open sessions."""
        self.games = Games(claim)
        self.stopped = StoppedSessions()
        self._left: dict[tuple[str, SessionId], None] = {}
        """Games and sessions whose snapshots are to be forgotten, in order."""
        self.draining = False
        self.counts = counts

    def __len__(self) -> int:
        return len(self.sessions)

    def __contains__(self, session: SessionId) -> bool:
        return session in self.sessions or session in self.stopped

    @property
    def left(self) -> list[tuple[str, SessionId]]:
        """Returns games and sessions that left for good since they were last taken, where snapshots are kept."""
        return list(self._left)

    def take_left(self) -> list[tuple[str, SessionId]]:
        """Returns what ``left`` does, each once."""
        left, self._left = self._left, {}
        return list(left)

    async def step(self, request: StepRequest) -> StepReply:
        """Returns the answer to one step; errors are counted by code.

        Raises:
          GameElsewhereError: Another replica holds the game.
          StepError: Whatever else keeps the step from being answered.
        """
        try:
            if request.deadline_ms is None or request.deadline_ms >= 1000 * self.limits.step_timeout_s:
                return await self._in_time(request)
            return await self._in_less_time(request, request.deadline_ms / 1000)
        except GameElsewhereError:
            raise
        except StepError as error:
            self.counts[error.code] += 1
            raise
        except Exception as error:
            self.counts[AgentError.code] += 1
            raise AgentError(f"the agent failed: {type(error).__name__}: {error}") from error

    async def sweep(self) -> None:
        """Closes sessions without a step for too long as truncated, and forgets replies of long-stopped ones."""
        now_s = self._clock()
        for session in list(self.sessions.values()):
            if session.idle_since(now_s - self.limits.idle_timeout_s):  # Asked late: closing others takes its time.
                await self._close(session, EndCause.IDLE)
        self._expire_stopped()

    async def end_all(self) -> int:
        """Refuses new games, ends the open ones as truncated and returns how many sessions there were."""
        self.draining = True
        open_sessions = list(self.sessions.values())
        async with asyncio.TaskGroup() as group:
            for session in open_sessions:
                group.create_task(self._close(session, EndCause.SHUTDOWN))
        return len(open_sessions)

    @asynccontextmanager
    async def frozen(self, game: Game) -> AsyncIterator[None]:
        """Keeps a game still, from the end of its running steps to the end of the block."""
        async with AsyncExitStack() as stack:
            game.frozen = True
            try:
                for session in list(game.sessions.values()):
                    await stack.enter_async_context(session.lock)
                yield
            finally:
                game.frozen = False

    def enter(self, session: Session) -> None:
        """Takes in a session that goes on here."""
        self.sessions[session.id] = session
        if not session.game.sessions:
            self.games.playing += 1
        session.game.sessions[session.id] = session
        if self._guard is not None:
            self._guard.bind(session.id, session.key)
        if (before := self.stopped.pop(session.id)) is not None:
            self.games.lose_reply(before.game)
        self._left.pop((session.game.id, session.id), None)  # It may have been played before.

    def leave(self, session: Session) -> None:
        """Lets a session go; its game with it, if nothing else is left of that."""
        del self.sessions[session.id]
        del session.game.sessions[session.id]
        if not session.game.sessions:
            self.games.playing -= 1
        session.wake()
        if self._guard is not None:
            self._guard.ended(session.id)
        if self._save is not None:
            self._left[session.game.id, session.id] = None
        self.games.close_if_over(session.game)

    def hand_on(self, game: Game, owner: str) -> None:
        """Forgets a frozen game that another replica plays on; who asks for it is told where."""
        self.games.hand_on(game, owner)
        self._leave_all(game)

    def forget(self, game: Game) -> None:
        """Forgets a game that is not this replica's; its agents are not told that it has ended, since it has not."""
        self.games.forget(game)
        self._leave_all(game)

    def keep_stopped(self, session: SessionId, game: str, reply: StepReply, key: str | None) -> None:
        """Keeps the last reply of a session that is over, for the key that it was started under."""
        if (before := self.stopped.pop(session)) is not None:
            self.games.lose_reply(before.game)
        self.games.keep_reply(game)
        self.stopped.add(session, Stopped(self._clock(), game, reply, key))
        if self._guard is not None:
            self._guard.was_of(session, key)
        self._expire_stopped()

    def make(self, session_id: SessionId, game: Game, purpose: Purpose) -> Session:
        """Returns a new session of a game, not yet entered.

        Raises:
          StepError: No such agent plays here.
        """
        board = Board(game, session_id, self.limits.board_timeout_s)
        agent = self._make_agent(session_id, purpose, board)
        return Session(session_id, game, agent, board, purpose, self._clock())

    async def _in_time(self, request: StepRequest) -> StepReply:
        """Answers a step within the time that all steps have."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("steps are answered in tasks")
        self._deadlines.begin(task, loop)
        try:
            reply = await self._step(request, self._deadlines)
        except asyncio.CancelledError as error:
            if self._deadlines.end(task):
                raise _late(request, self.limits.step_timeout_s) from error
            raise
        except BaseException:
            self._deadlines.end(task)
            raise
        self._deadlines.end(task)
        return reply

    async def _in_less_time(self, request: StepRequest, limit_s: float) -> StepReply:
        """Answers a step within the time that its game core gives it."""
        limit = asyncio.timeout(limit_s)
        try:
            async with limit:
                return await self._step(request, limit)
        except TimeoutError as error:
            if limit.expired():
                raise _late(request, limit_s) from error
            raise

    async def _step(self, request: StepRequest, limit: Limit) -> StepReply:
        if request.kind is StepKind.START:
            return await self._start(request)
        if request.kind is StepKind.AUTO:
            return await self._auto(request, limit)
        while (session := self.sessions.get(request.session)) is not None:
            if self._guard is not None:  # Each time: the id may have begun anew, under another key.
                self._guard.check(request)
            await session.in_turn(request.seq)
            session.queued(1)
            try:
                async with session.lock:
                    # It may have ended, or begun anew, or an earlier step may have failed while this one waited.
                    if self._is_open(session):
                        if session.may_play(request.seq):
                            return await self._answer(session, request, limit)
                        session.failed()
            finally:
                session.queued(-1)
        return self._of_absent(request)

    async def _answer(self, session: Session, request: StepRequest, limit: Limit) -> StepReply:
        session.used_at_s = self._clock()
        replayed = session.replayed(request.seq)
        if replayed is not None:
            return replayed
        try:
            if request.kind is StepKind.STOP:
                return await self._stop(session, request)
            reply = await session.tick(request, limit)
        except BaseException:
            session.failed()
            raise
        finally:
            session.used_at_s = self._clock()
        self.counts[session.ticks_key] += 1
        if limit.expired():
            self.counts["deadline_fallbacks"] += 1
        every = self.limits.snapshot_every_ticks
        if every is not None and self._save is not None and session.seq - session.saved_seq >= every:
            await self._save(session)
        return reply

    async def _start(self, request: StepRequest) -> StepReply:
        while (existing := self.sessions.get(request.session)) is not None:
            async with existing.lock:
                if not self._is_open(existing):
                    continue
                if self._guard is not None:
                    self._guard.check(request)
                if existing.seq == 0:  # A retry: nothing has happened since.
                    return existing.started
                if request.seq is not None:
                    raise SessionExistsError(f"session {existing.id!r} has played {existing.seq} steps; stop it first")
                await self._end(existing, EndCause.RESTARTED)
        if self._guard is not None:
            self._guard.place(request)  # No game is claimed, and no agent made, for who has no place.
        session_id = request.session or self._mint()
        game = await self.games.held(game_of(session_id), self._admit)
        try:
            purpose = request.purpose or self._default_purpose
            if session_id in self.sessions:  # Another start was faster while the game was claimed.
                return await self._start(request)
            key = None if self._guard is None else self._guard.place(request)
            session = self.make(session_id, game, purpose)
            session.key = key
            return await self._begin(session, request)
        finally:
            self.games.close_if_over(game)

    async def _begin(self, session: Session, request: StepRequest) -> StepReply:
        self.enter(session)
        async with session.lock:
            try:
                reply = await session.start(request.body)
            except BaseException:
                self.leave(session)
                raise
            session.used_at_s = self._clock()
        self.counts["starts"] += 1
        if self.limits.snapshot_every_ticks is not None and self._save is not None:
            await self._save(session)
        return reply

    async def _stop(self, session: Session, request: StepRequest) -> StepReply:
        try:
            reply = await session.stop(request)
        except StepError:
            raise  # The stop can be repeated.
        except Exception:  # The agent is broken, and the game core's game over: nothing would ever free its place.
            self.leave(session)
            raise
        self.keep_stopped(session.id, session.game.id, reply, session.key)
        self.leave(session)
        self.counts["stops"] += 1
        return reply

    async def _auto(self, request: StepRequest, limit: Limit) -> StepReply:
        session = self.make(request.session, Game(""), Purpose.PLAY)
        self.counts["autos"] += 1
        return await session.tick(request, limit)

    def _admit(self, game: str) -> None:
        """Does nothing where one more game may be played here.

        Raises:
          StepError: It may not.
        """
        if self.draining:
            raise DrainingError("this replica takes no new games; start again, on a new connection")
        if self.games.playing >= self.limits.max_games:
            raise OverloadedError(f"{self.games.playing} games are open, as many as are allowed; {game!r} is refused")

    async def _close(self, session: Session, cause: EndCause) -> None:
        async with session.lock:
            if self._is_open(session):
                await self._end(session, cause)

    async def _end(self, session: Session, cause: EndCause) -> None:
        """Ends an episode from our side; an agent that fails at it must not keep other games from their end."""
        self.leave(session)
        self.counts[f"closed_{cause}"] += 1
        try:
            async with asyncio.timeout(self.limits.step_timeout_s):
                await session.close(cause)
        except Exception:  # noqa: BLE001  # The user's agent may raise anything; no game core waits for an answer.
            self.counts[AgentError.code] += 1
            _log.exception("the agent of session %r failed when its episode was ended: %s", session.id, cause)

    def _leave_all(self, game: Game) -> None:
        """Lets all sessions of a game go, which is played on elsewhere: its snapshots stay."""
        for session in list(game.sessions.values()):
            self.leave(session)
            self._left.pop((game.id, session.id), None)
        for stopped in self.stopped.of_game(game.id):
            self.stopped.pop(stopped.reply.session)

    def _is_open(self, session: Session) -> bool:
        return self.sessions.get(session.id) is session

    def _expire_stopped(self) -> None:
        for stopped in self.stopped.expire(self._clock()):
            self.games.lose_reply(stopped.game)

    def _of_absent(self, request: StepRequest) -> StepReply:
        reply = self.stopped.get(request.session)
        if reply is not None and request.kind is StepKind.STOP:
            if self._guard is not None:
                self._guard.check(request)
            return reply
        if (owner := self.games.moved_to(game_of(request.session))) is not None:
            raise GameElsewhereError(game_of(request.session), owner)
        raise SessionUnknownError(f"session {request.session!r} was not started here; send step_kind start first")


def _late(request: StepRequest, limit_s: float) -> DeadlineExceededError:
    return DeadlineExceededError(f"{request.kind} of session {request.session!r} took longer than {limit_s:g} s")
