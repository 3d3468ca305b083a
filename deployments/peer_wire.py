"""Steps between replicas as HTTP requests and replies."""

import re

from app.client.reply import Reply
from app.errors import AgentError, GameElsewhereError, StepError
from app.types import Version
from app.wire.http import HttpReply, refusal
from app.wire.steps import StepReply, StepRequest, parse_json

OWNER_HEADER = b"owner"
"""Names the replica that a game was handed to."""
OK = 200

_KEY = re.compile(r"[!-~]+")
"""A key that a door may have admitted; where nobody needs one, clients may send any text, and none of it matters."""


def step_headers(request: StepRequest) -> dict[str, str]:
    """Returns the headers of a forwarded step."""
    headers = {"step_kind": str(request.kind)}
    if request.session:
        headers["session"] = request.session.encode().decode("latin-1")
    if request.purpose is not None:
        headers["purpose"] = str(request.purpose)
    if request.seq is not None:
        headers["seq"] = str(request.seq)
    if request.deadline_ms is not None:
        headers["deadline_ms"] = str(int(request.deadline_ms))
    if request.credentials is not None and _KEY.fullmatch(request.credentials.key):
        headers["key"] = request.credentials.key
    if request.delta:
        headers["delta"] = "1"
    return headers


def read_reply(request: StepRequest, reply: Reply) -> StepReply:
    """Returns the owner's answer.

    Raises:
      StepError: The owner's own error; a ``GameElsewhereError`` where it has handed the game on.
    """
    if reply.status != OK:
        raise _error(request, reply)
    version, resumed_at = reply.headers.get("policy_version"), reply.headers.get("resumed_at")
    return StepReply(
        session=request.session or reply.headers.get("session", ""),
        body=reply.body,
        seq=int(reply.headers["seq"]),
        version=None if version is None else Version.parse(version),
        resumed_at=None if resumed_at is None else int(resumed_at),
        endpoint=reply.headers.get("endpoint"),
        is_json=reply.headers.get("content-type") == "application/json",
    )


def elsewhere(error: GameElsewhereError) -> HttpReply:
    """Returns the reply that tells a peer where the game is."""
    return refusal(error)._replace(headers=((OWNER_HEADER, error.owner.encode()),))


def _error(request: StepRequest, reply: Reply) -> StepError:
    if (owner := reply.headers.get(OWNER_HEADER.decode())) is not None:
        return GameElsewhereError(request.session, owner)
    document = parse_json(reply.body)
    if not isinstance(document, dict):
        return AgentError(f"the owner of the game answered status {reply.status} without a problem document")
    classes = {error.code: error for error in _subclasses(StepError) if error is not GameElsewhereError}
    return classes.get(str(document.get("code")), AgentError)(str(document.get("detail")))


def _subclasses(base: type[StepError]) -> list[type[StepError]]:
    return [base, *(c for child in base.__subclasses__() for c in _subclasses(child))]
