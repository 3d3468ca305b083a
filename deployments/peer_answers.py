"""What other replicas of the service answer to an operator's questions, and what all say together."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

from app.metrics.reports import NodeReport, ReplicaReport
from app.sessions.listing import Rows, rows_of

OK: Final = 200
NOT_FOUND: Final = 404


class PeerAnswer(NamedTuple):
    """What another replica answered."""

    status: int
    document: object
    """Parsed JSON."""


Answers = Mapping[str, PeerAnswer | None]
"""Replicas' answers by their names; None for one that is silent."""


class Peers(Protocol):
    """The other replicas of this service."""

    async def of_node(self, target: str) -> Answers:
        """Returns what the replicas of this node answer to ``GET target``."""

    async def of_service(self, target: str) -> Answers:
        """Returns what the replicas of all nodes answer to ``GET target``."""

    def count(self) -> int:
        """Returns how many replicas there are on all nodes."""


class Nobody:
    """No other replicas: who is asked by one answers for itself alone."""

    async def of_node(self, target: str) -> Answers:
        """Returns nothing."""
        return {}

    async def of_service(self, target: str) -> Answers:
        """Returns nothing."""
        return {}

    def count(self) -> int:
        """Returns 0."""
        return 0


def together(own: ReplicaReport, answers: Answers) -> NodeReport:
    """Returns what a replica says, and what others have answered."""
    reports, silent = [own], []
    for name, answer in answers.items():
        theirs = _reports(answer)
        reports += theirs or []
        silent += [] if theirs else [name]
    return NodeReport(reports, silent)


def sessions_of(answer: PeerAnswer | None) -> Rows | None:
    """Returns a peer's page, and whether more follow there; None where that is no page."""
    said = _said(answer)
    try:
        return rows_of(said.get("sessions")), said.get("next") is not None
    except ValueError:  # It runs another version of this code.
        return None


def silent_in(answers: Answers) -> str:
    """Returns the end of a message that nobody has something: who did not say so; empty where all have."""
    silent = sorted(name for name, answer in answers.items() if answer is None or answer.status != NOT_FOUND)
    return f"; silent are {', '.join(silent)}" if silent else ""


def _reports(answer: PeerAnswer | None) -> list[ReplicaReport] | None:
    """Returns what a peer says of itself; None where that is no report."""
    try:
        return [ReplicaReport.parse(part) for part in _said(answer).get("replicas", [])]
    except ValueError:  # It runs another version of this code.
        return None


def _said(answer: PeerAnswer | None) -> dict[str, Any]:
    """Returns the object that a peer has answered with; an empty one where it did not."""
    if answer is None or answer.status != OK or not isinstance(answer.document, dict):
        return {}
    return answer.document
