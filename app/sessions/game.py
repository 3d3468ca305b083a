"""A game: the unit that one replica owns, hands over and restores."""

from typing import TYPE_CHECKING

from app.sessions.blackboard import Frame
from app.types import SessionId

if TYPE_CHECKING:
    from app.sessions.session import Session


class Game:
    """All sessions of one match, and what they share."""

    __slots__ = ("epoch", "frame", "frozen", "id", "replies_kept", "sessions")

    def __init__(self, game_id: str, epoch: int = 0) -> None:
        self.id = game_id
        self.epoch = epoch
        """Number of the claim under which this replica holds the game; what carries an older one is refused."""
        self.sessions: dict[SessionId, "Session"] = {}
        """Open sessions."""
        self.frame = Frame()
        self.replies_kept = 0
        """Last replies kept of sessions that are over."""
        self.frozen = False
        """Whether it is about to be handed on: then no session joins."""

    def agents(self) -> list[SessionId]:
        """Returns the open sessions' ids."""
        return sorted(self.sessions)
