"""The sessions that a replica holds, and what is kept of those that are over."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from app.sessions.game import Game
from app.sessions.games import Games
from app.sessions.roles import Guard
from app.sessions.session import Session
from app.sessions.stopped import Stopped, StoppedSessions
from app.types import SessionId
from app.wire.steps import StepReply


class HeldSessions:
    """Open sessions by game, last replies of stopped ones, and those whose snapshots are of no use any more."""

    def __init__(self, games: Games, guard: Guard | None, clock: Callable[[], float], *, keeps_snapshots: bool) -> None:
        """Holds nothing yet.

        Args:
          games: The games of this replica.
          guard: Learns whose sessions come and go; None where nobody needs a key.
          clock: Returns seconds that never go back.
          keeps_snapshots: Whether there are snapshots to be forgotten.
        """
        self.games = games
        self._guard = guard
        self._clock = clock
        self._keeps_snapshots = keeps_snapshots
        self.open: dict[SessionId, Session] = {}
        self.stopped = StoppedSessions()
        self._left: dict[tuple[str, SessionId], None] = {}
        """Games and sessions whose snapshots are to be forgotten, in order."""

    @property
    def left(self) -> list[tuple[str, SessionId]]:
        """Returns games and sessions that left for good since they were last taken, where snapshots are kept."""
        return list(self._left)

    def take_left(self) -> list[tuple[str, SessionId]]:
        """Returns what ``left`` does, each once."""
        left, self._left = self._left, {}
        return list(left)

    def is_open(self, session: Session) -> bool:
        """Returns whether a session is not over, and has not begun anew."""
        return self.open.get(session.id) is session

    def enter(self, session: Session) -> None:
        """Takes in a session that goes on here."""
        self.open[session.id] = session
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
        del self.open[session.id]
        del session.game.sessions[session.id]
        if not session.game.sessions:
            self.games.playing -= 1
        session.wake()
        if self._guard is not None:
            self._guard.ended(session.id)
        if self._keeps_snapshots:
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
        self.expire_stopped()

    def expire_stopped(self) -> None:
        """Forgets the last replies of sessions that were stopped long ago."""
        for stopped in self.stopped.expire(self._clock()):
            self.games.lose_reply(stopped.game)

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

    def _leave_all(self, game: Game) -> None:
        """Lets all sessions of a game go, which is played on elsewhere: its snapshots stay."""
        for session in list(game.sessions.values()):
            self.leave(session)
            self._left.pop((game.id, session.id), None)
        for stopped in self.stopped.of_game(game.id):
            self.stopped.pop(stopped.reply.session)
