"""What a replica's sessions need of others: their agents, a place for snapshots, and who may play."""

from typing import Protocol

from app.sessions.blackboard import Board
from app.sessions.session import Session, SessionAgent
from app.types import Purpose, SessionId
from app.wire.steps import StepRequest


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
