"""All games of one replica: steps to sessions, admission, drain."""

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from app.errors import (
    AgentError,
    DrainingError,
    GameElsewhereError,
    OverloadedError,
    SessionUnknownError,
    StepError,
)
from app.logs.failures import Failures
from app.logs.session import SESSION
from app.sessions.deadlines import Limit
from app.sessions.episodes import Episodes
from app.sessions.game import Game
from app.sessions.games import Games
from app.sessions.held import HeldSessions
from app.sessions.ids import game_of
from app.sessions.limits import Limits
from app.sessions.roles import Guard, MakeAgent, Save
from app.sessions.session import Session
from app.sessions.timed import TimedSteps
from app.sessions.times import TimesOf, now_s
from app.types import Purpose, SessionId, StepKind
from app.wire.steps import StepReply, StepRequest


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
        times: TimesOf | None = None,
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
          times: Returns what takes how long the ticks of a session wait and last; None measures nothing.
        """
        self.limits = limits
        self.counts = counts
        self.draining = False
        self._clock = clock
        self._save = save
        self._guard = guard
        self._failures = Failures(counts, AgentError.code)
        self._held = held = HeldSessions(Games(claim), guard, clock, keeps_snapshots=save is not None)
        self.sessions = held.open
        """Open sessions."""
        self.games = held.games
        self.stopped = held.stopped
        self._episodes = Episodes(
            held, make_agent, limits, default_purpose, mint, clock, counts, self._admit, save, guard, times
        )
        self._timed = TimedSteps(limits.step_timeout_s, self._step)

    def __len__(self) -> int:
        return len(self.sessions)

    def __contains__(self, session: SessionId) -> bool:
        return session in self.sessions or session in self.stopped

    async def step(self, request: StepRequest) -> StepReply:
        """Returns the answer to one step; errors are counted by code.

        Raises:
          GameElsewhereError: Another replica holds the game.
          StepError: Whatever else keeps the step from being answered.
        """
        token = SESSION.set(request.session)
        try:
            if request.deadline_ms is None or request.deadline_ms >= 1000 * self.limits.step_timeout_s:
                return await self._timed.in_time(request)
            return await self._timed.in_less_time(request, request.deadline_ms / 1000)
        except GameElsewhereError:
            raise
        except StepError as error:
            self.counts[error.code] += 1
            raise
        except Exception as error:
            self._failures.tell(error, f"the agent of session {request.session!r} failed")
            raise AgentError(f"the agent failed: {type(error).__name__}: {error}") from error
        finally:
            SESSION.reset(token)

    async def sweep(self) -> None:
        """Closes sessions without a step for too long as truncated, and forgets replies of long-stopped ones."""
        await self._episodes.end_idle()
        self._held.expire_stopped()

    async def end_all(self) -> int:
        """Refuses new games, ends the open ones as truncated and returns how many sessions there were."""
        self.draining = True
        return await self._episodes.end_all()

    def make(self, session_id: SessionId, game: Game, purpose: Purpose) -> Session:
        """Returns a new session of a game, not yet entered.

        Raises:
          StepError: No such agent plays here.
        """
        return self._episodes.make(session_id, game, purpose)

    def enter(self, session: Session) -> None:
        """Takes in a session that goes on here."""
        self._held.enter(session)

    def frozen(self, game: Game) -> AbstractAsyncContextManager[None]:
        """Keeps a game still, from the end of its running steps to the end of the block."""
        return self._held.frozen(game)

    def hand_on(self, game: Game, owner: str) -> None:
        """Forgets a frozen game that another replica plays on; who asks for it is told where."""
        self._held.hand_on(game, owner)

    def forget(self, game: Game) -> None:
        """Forgets a game that is not this replica's; its agents are not told that it has ended, since it has not."""
        self._held.forget(game)

    def keep_stopped(self, session: SessionId, game: str, reply: StepReply, key: str | None) -> None:
        """Keeps the last reply of a session that is over, for the key that it was started under."""
        self._held.keep_stopped(session, game, reply, key)

    @property
    def left(self) -> list[tuple[str, SessionId]]:
        """Returns games and sessions that left for good since they were last taken, where snapshots are kept."""
        return self._held.left

    def take_left(self) -> list[tuple[str, SessionId]]:
        """Returns what ``left`` does, each once."""
        return self._held.take_left()

    async def _step(self, request: StepRequest, limit: Limit) -> StepReply:
        if request.kind is StepKind.START:
            return await self._episodes.start(request)
        if request.kind is StepKind.AUTO:
            return await self._auto(request, limit)
        arrived_s = now_s()
        while (session := self.sessions.get(request.session)) is not None:
            if self._guard is not None:  # Each time: the id may have begun anew, under another key.
                self._guard.check(request)
            await session.in_turn(request.seq)
            session.queued(1)
            try:
                async with session.lock:
                    # It may have ended, or begun anew, or an earlier step may have failed while this one waited.
                    if self.sessions.get(session.id) is session:
                        if session.may_play(request.seq):
                            return await self._answer(session, request, limit, arrived_s)
                        session.failed()
            finally:
                session.queued(-1)
        return self._of_absent(request)

    async def _answer(self, session: Session, request: StepRequest, limit: Limit, arrived_s: float) -> StepReply:
        session.used_at_s = self._clock()
        replayed = session.replayed(request.seq)
        if replayed is not None:
            return replayed
        try:
            if request.kind is StepKind.STOP:
                return await self._episodes.stop(session, request)
            turn_s = now_s()
            reply = await session.tick(request, limit)
            if (times := session.times) is not None:
                times.took(arrived_s, turn_s)
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

    def _of_absent(self, request: StepRequest) -> StepReply:
        reply = self.stopped.get(request.session)
        if reply is not None and request.kind is StepKind.STOP:
            if self._guard is not None:
                self._guard.check(request)
            return reply
        if (owner := self.games.moved_to(game_of(request.session))) is not None:
            raise GameElsewhereError(game_of(request.session), owner)
        raise SessionUnknownError(f"session {request.session!r} was not started here; send step_kind start first")
