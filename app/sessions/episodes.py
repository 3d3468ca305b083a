"""How episodes begin and end: starts and stops of game cores, and ends from our own side."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable

from app.errors import AgentError, SessionExistsError, StepError
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.sessions.held import HeldSessions
from app.sessions.ids import game_of
from app.sessions.limits import Limits
from app.sessions.roles import Guard, MakeAgent, Save
from app.sessions.session import EndCause, Session
from app.sessions.times import TimesOf
from app.types import Purpose, SessionId
from app.wire.steps import StepReply, StepRequest

_log = logging.getLogger(__name__)


class Episodes:
    """Opens sessions and closes them; each has one episode."""

    def __init__(
        self,
        held: HeldSessions,
        make_agent: MakeAgent,
        limits: Limits,
        default_purpose: Purpose,
        mint: Callable[[], SessionId],
        clock: Callable[[], float],
        counts: Counter[str],
        admit: Callable[[str], None],
        save: Save | None,
        guard: Guard | None,
        times: TimesOf | None,
    ) -> None:
        """Begins without an episode.

        Args:
          held: Where sessions are held.
          make_agent: Builds the agent of a session.
          limits: Bounds of what is held.
          default_purpose: Purpose of a start that names none.
          mint: Returns an id that nobody has.
          clock: Returns seconds that never go back.
          counts: Where starts, stops and other ends are counted.
          admit: Raises a ``StepError`` where no further game, of which it is told the id, may be played.
          save: Keeps snapshots; None keeps none.
          guard: Keeps sessions for their keys; None where nobody needs one.
          times: Returns what takes the times of a session's ticks; None measures nothing.
        """
        self._held = held
        self._make_agent = make_agent
        self._limits = limits
        self._default_purpose = default_purpose
        self._mint = mint
        self._clock = clock
        self._counts = counts
        self._admit = admit
        self._save = save
        self._guard = guard
        self._times = times

    def make(self, session_id: SessionId, game: Game, purpose: Purpose) -> Session:
        """Returns a new session of a game, not yet held.

        Raises:
          StepError: No such agent plays here.
        """
        board = Board(game, session_id, self._limits.board_timeout_s)
        agent = self._make_agent(session_id, purpose, board)
        times = None if self._times is None else self._times(session_id)
        return Session(session_id, game, agent, board, purpose, self._clock(), times)

    async def start(self, request: StepRequest) -> StepReply:
        """Opens a session, after the end of its last episode where the game core never stopped that.

        Raises:
          StepError: It may not be opened.
        """
        while (existing := self._held.open.get(request.session)) is not None:
            async with existing.lock:
                if not self._held.is_open(existing):
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
        game = await self._held.games.held(game_of(session_id), self._admit)
        try:
            purpose = request.purpose or self._default_purpose
            if session_id in self._held.open:  # Another start was faster while the game was claimed.
                return await self.start(request)
            key = None if self._guard is None else self._guard.place(request)
            session = self.make(session_id, game, purpose)
            session.key = key
            return await self._begin(session, request)
        finally:
            self._held.games.close_if_over(game)

    async def stop(self, session: Session, request: StepRequest) -> StepReply:
        """Ends an episode as its game core says; asked by who holds the session's lock."""
        try:
            reply = await session.stop(request)
        except StepError:
            raise  # The stop can be repeated.
        except Exception:  # The agent is broken, and the game core's game over: nothing would ever free its place.
            self._held.leave(session)
            raise
        self._held.keep_stopped(session.id, session.game.id, reply, session.key)
        self._held.leave(session)
        self._counts["stops"] += 1
        return reply

    async def end_idle(self) -> None:
        """Ends the episodes without a step for too long."""
        now_s = self._clock()
        for session in list(self._held.open.values()):
            if session.idle_since(now_s - self._limits.idle_timeout_s):  # Asked late: closing others takes its time.
                await self._close(session, EndCause.IDLE)

    async def end_all(self) -> int:
        """Ends the open episodes as truncated and returns how many there were."""
        sessions = list(self._held.open.values())
        async with asyncio.TaskGroup() as group:
            for session in sessions:
                group.create_task(self._close(session, EndCause.SHUTDOWN))
        return len(sessions)

    async def _begin(self, session: Session, request: StepRequest) -> StepReply:
        self._held.enter(session)
        async with session.lock:
            try:
                reply = await session.start(request.body)
            except BaseException:
                self._held.leave(session)
                raise
            session.used_at_s = self._clock()
        self._counts["starts"] += 1
        if self._limits.snapshot_every_ticks is not None and self._save is not None:
            await self._save(session)
        return reply

    async def _close(self, session: Session, cause: EndCause) -> None:
        async with session.lock:
            if self._held.is_open(session):
                await self._end(session, cause)

    async def _end(self, session: Session, cause: EndCause) -> None:
        """Ends an episode from our side; an agent that fails at it must not keep other games from their end."""
        self._held.leave(session)
        self._counts[f"closed_{cause}"] += 1
        try:
            async with asyncio.timeout(self._limits.step_timeout_s):
                await session.close(cause)
        except Exception:  # noqa: BLE001  # The user's agent may raise anything; no game core waits for an answer.
            self._counts[AgentError.code] += 1
            extra = {"session": session.id}
            _log.exception(
                "the agent of session %r failed when its episode was ended: %s", session.id, cause, extra=extra
            )
