"""How far a session has come: which step is next, and of which it is not known what became; no I/O."""

from typing import Final

from app.client.errors import SessionClosedError
from app.client.outgoing import Encoder, Outgoing
from app.client.steps import FIRST_SEQ, START, STOP

UNSETTLED_MAX: Final = 8
"""Steps under way at once: as many replies as the service keeps for those that ask again."""


class Course:
    """One session's steps, in order."""

    def __init__(self, session: str, encoder: Encoder) -> None:
        self.session = session
        """Id of the session; empty until the service has named it."""
        self.resumes = 0
        """How often the game went on from a snapshot after its replica was lost."""
        self.stopped = False
        self._encoder = encoder
        self._next_seq = FIRST_SEQ
        self._unsettled: list[Outgoing] = []

    @property
    def open(self) -> bool:
        """Tells whether the session is started and not stopped."""
        return self._next_seq > FIRST_SEQ and not self.stopped

    @property
    def unsettled(self) -> tuple[Outgoing, ...]:
        """Returns the steps that were sent and of which it is not known whether they were played, the oldest first."""
        return tuple(self._unsettled)

    def next(self, kind: str, payload: object, *, plain: bool = False) -> Outgoing:
        """Returns the next step, from now on unsettled; plain is neither compressed nor a difference.

        Raises:
          SessionClosedError: The session is stopped, or it is not started and the step is no start.
          TypeError: The payload is neither bytes, message nor JSON.
          ValueError: Too many steps of the session are under way.
        """
        seq = self._next_seq + len(self._unsettled)
        if self.stopped or (kind == START) != (seq == FIRST_SEQ):
            state = "stopped" if self.stopped else "not started" if seq == FIRST_SEQ else "already started"
            raise SessionClosedError(f"a {kind} of session {self.session!r}, which is {state}")
        if len(self._unsettled) >= UNSETTLED_MAX:
            raise ValueError(f"{UNSETTLED_MAX} steps of session {self.session!r} in one batch are the most allowed")
        step = self._encoder.encode(kind, seq, payload, plain=plain)
        self._unsettled.append(step)
        return step

    def played(self, step: Outgoing) -> None:
        """Notes that a step was answered."""
        self._unsettled = [other for other in self._unsettled if other.seq > step.seq]
        self._next_seq = step.seq + 1
        self.stopped = step.kind == STOP
        self._encoder.answered(step)

    def refused(self, step: Outgoing) -> None:
        """Notes that a step was not played, nor therefore those behind it: its number is the next step's."""
        self._unsettled = [other for other in self._unsettled if other.seq < step.seq]
        self._encoder.forget()

    def resumed(self) -> None:
        """Notes that the game goes on from a snapshot, which may not know the last state."""
        self.resumes += 1
        self._encoder.forget()
