"""Last replies of sessions that are over, for a stop that is repeated."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, NamedTuple

from app.types import SessionId
from app.wire.steps import StepReply

STOPPED_KEPT: Final = 10_000
"""Stopped sessions whose last reply is kept for a retry of the stop."""
STOPPED_KEPT_S: Final = 60.0
"""Seconds for which it is kept."""


class Stopped(NamedTuple):
    """A session that is over."""

    stopped_at_s: float
    game: str
    reply: StepReply
    key: str | None = None
    """Name of the key that it was started under; None where nobody needs one."""


class StoppedSessions:
    """Bounded in number and time, the oldest first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[SessionId, Stopped] = OrderedDict()

    def __contains__(self, session: SessionId) -> bool:
        return session in self._kept

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, session: SessionId, stopped: Stopped) -> None:
        """Keeps the last reply of a session."""
        self._kept[session] = stopped

    def get(self, session: SessionId) -> StepReply | None:
        """Returns the last reply of a session; None where it is not kept."""
        stopped = self._kept.get(session)
        return None if stopped is None else stopped.reply

    def pop(self, session: SessionId) -> Stopped | None:
        """Forgets a session and returns what was kept of it."""
        return self._kept.pop(session, None)

    def of_game(self, game: str) -> list[Stopped]:
        """Returns what is kept of one game."""
        return [stopped for stopped in self._kept.values() if stopped.game == game]

    def expire(self, now_s: float) -> Iterator[Stopped]:
        """Forgets what is beyond number or time, and returns it one by one."""
        while self._kept:
            oldest = next(iter(self._kept.values()))
            if len(self._kept) <= STOPPED_KEPT and oldest.stopped_at_s >= now_s - STOPPED_KEPT_S:
                return
            yield self._kept.popitem(last=False)[1]
