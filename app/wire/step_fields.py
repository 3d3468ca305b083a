"""Fields of a step, as they stand in the headers or the query of a request, checked one by one."""

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from app.errors import BadRequestError, ProtocolVersionError
from app.wire.steps import Body, Credentials, StepRequest
from app.words import Purpose, StepKind

PROTOCOL: Final = 1
"""Version of the wire contract."""

MERGE_PATCH: Final = "application/merge-patch+json"
"""Media type of a body that is a difference (RFC 7396)."""

DIGITS_MAX: Final = 18
"""Digits of a whole number: what fits 63 bits."""

SESSION_CHARACTERS_MAX: Final = 256
"""Longest session id."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_KINDS: Final = {"": StepKind.TICK, "start": StepKind.START, "tick": StepKind.TICK, "stop": StepKind.STOP}
_KINDS.update({"end": StepKind.STOP, "auto": StepKind.AUTO})
_PURPOSES: Final = {str(purpose): purpose for purpose in Purpose}


def step_of(fields: Mapping[str, str], body: Body) -> StepRequest:
    """Returns the step that header or query fields and a body ask for.

    Raises:
      BadRequestError: A field has a value that the protocol does not know.
    """
    session = checked_session(fields.get("session", ""))
    kind = parse_kind(fields.get("step-kind", ""), session)
    seq, deadline = fields.get("seq"), fields.get("deadline-ms")
    return StepRequest(
        session=session or minted_once(kind, fields.get("idempotency-key", "")),
        kind=kind,
        body=body,
        purpose=parse_purpose(fields.get("purpose")),
        seq=None if seq is None else parse_whole("seq", seq),
        deadline_ms=None if deadline is None else parse_whole("deadline_ms", deadline),
        credentials=credentials_of(fields),
        delta=fields.get("delta") == "1" or fields.get("content-type") == MERGE_PATCH,
    )


def defaults_of(fields: Mapping[str, str]) -> tuple[Purpose | None, float | None]:
    """Returns what a ``/steps`` request says for all its items: purpose, and deadline in milliseconds; None for none.

    Raises:
      BadRequestError: A field has a value that the protocol does not know.
    """
    deadline = fields.get("deadline-ms")
    return parse_purpose(fields.get("purpose")), None if deadline is None else parse_whole("deadline_ms", deadline)


def credentials_of(fields: Mapping[str, str]) -> Credentials | None:
    """Returns who asks; None where the request does not say.

    ``Authorization: Bearer KEY`` stands for ``key: KEY``: what tools can send that read a key from a file.
    """
    key = fields.get("key")
    if key is None:
        scheme, _, given = fields.get("authorization", "").partition(" ")
        key = given.strip() if scheme.lower() == "bearer" else None
    return None if key is None else Credentials(key, fields.get("time", ""), fields.get("token", ""))


def minted_once(kind: StepKind, idempotency_key: str) -> str:
    """Returns the id of a start without a session: the same key gives the same one; empty where there is no key."""
    if kind is not StepKind.START or not idempotency_key:
        return ""
    return f"once.{hashlib.sha256(idempotency_key.encode()).hexdigest()[:24]}"


def check_protocol(given: int) -> None:
    """Does nothing where the client speaks the service's version of the wire contract.

    Raises:
      ProtocolVersionError: It speaks another one.
    """
    if given != PROTOCOL:
        raise ProtocolVersionError(f"the client speaks protocol {given}, the service {PROTOCOL}")


def checked_session(session: str) -> str:
    """Returns a session id as it is.

    Raises:
      BadRequestError: It is too long, or no line of a log or header can hold it.
    """
    if len(session) > SESSION_CHARACTERS_MAX or (not session.isprintable() and _CONTROL.search(session)):
        raise BadRequestError(
            f"session is {session[:80]!r} of {len(session)} characters; allowed are up to {SESSION_CHARACTERS_MAX}, "
            "without control characters (below 0x20, and 0x7f)"
        )
    return session


def parse_kind(kind: str, session: str) -> StepKind:
    """Returns the kind of a step: a tick where none is given, and a tick without a session is stateless.

    Raises:
      BadRequestError: There is no such kind, or the kind needs a session.
    """
    parsed = _KINDS.get(kind)
    if parsed is None:
        raise BadRequestError(f"step_kind is {kind!r}; allowed are start, tick, stop (or end) and auto")
    if session or parsed in (StepKind.START, StepKind.AUTO):
        return parsed
    if parsed is StepKind.TICK:
        return StepKind.AUTO
    raise BadRequestError("a stop needs the session that it ends")


def parse_purpose(purpose: str | None) -> Purpose | None:
    """Returns the purpose, None where none is given.

    Raises:
      BadRequestError: There is no such purpose.
    """
    if purpose is None:
        return None
    if purpose not in _PURPOSES:
        raise BadRequestError(f"purpose is {purpose!r}; allowed are {', '.join(_PURPOSES)}")
    return _PURPOSES[purpose]


def parse_whole(name: str, text: str) -> int:
    """Returns a whole number that is not negative.

    Raises:
      BadRequestError: The text is something else.
    """
    if not (text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX):
        raise BadRequestError(f"{name} is {text[:40]!r}; allowed is a whole number from 0")
    return int(text)
