"""Step requests and replies as they stand in HTTP requests, single and in batches."""

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import orjson

from app.errors import AgentError, BadPayloadError, BadRequestError, ProtocolVersionError, StepError
from app.types import Purpose, StepKind, Version

PROTOCOL: Final = 1
"""Version of the wire contract."""

MERGE_PATCH: Final = "application/merge-patch+json"
"""Media type of a body that is a difference (RFC 7396)."""

DIGITS_MAX: Final = 18
"""Digits of a whole number: what fits 63 bits."""

MAX_BATCH_STEPS: Final = 4096
"""Steps in one ``/steps`` request."""

SESSION_CHARACTERS_MAX: Final = 256
"""Longest session id."""

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None
"""A parsed JSON value."""


@dataclass(frozen=True, slots=True)
class JsonBody:
    """A body that arrived parsed, or that may leave as JSON."""

    value: Json


Body = bytes | JsonBody


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who asks, as the client says; nothing here is checked yet."""

    key: str
    time: str = ""
    """Unix seconds, part of what the token signs."""
    token: str = ""
    """Hex HMAC-SHA256 of key, time and session under the key's secret."""


class StepRequest(NamedTuple):
    """One step of one session."""

    session: str
    """Empty: a start mints one."""
    kind: StepKind
    body: Body
    purpose: Purpose | None = None
    """None: the service's own default."""
    seq: int | None = None
    deadline_ms: float | None = None
    credentials: Credentials | None = None
    delta: bool = False
    """Whether the body is a difference to the session's last one."""


class StepReply(NamedTuple):
    """The agent's answer."""

    session: str
    body: bytes
    seq: int
    """Steps that this session has answered."""
    version: Version | None = None
    """Weights behind the answer; None where no model was asked."""
    resumed_at: int | None = None
    """Last step of the game before its replica was lost, where it goes on from a snapshot with this one."""
    endpoint: str | None = None
    """Of a start: ``host:port`` where the game's own replica listens."""
    is_json: bool = False
    """Whether the body is a JSON value."""


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


def credentials_of(fields: Mapping[str, str]) -> Credentials | None:
    """Returns who asks; None where the request does not say."""
    key = fields.get("key")
    return None if key is None else Credentials(key, fields.get("time", ""), fields.get("token", ""))


def minted_once(kind: StepKind, idempotency_key: str) -> str:
    """Returns the id of a start without a session: the same key gives the same one; empty where there is no key."""
    if kind is not StepKind.START or not idempotency_key:
        return ""
    return f"once.{hashlib.sha256(idempotency_key.encode()).hexdigest()[:24]}"


def batch_of(fields: Mapping[str, str], body: bytes) -> list[StepRequest]:
    """Returns the steps of a ``/steps`` request; purpose and deadline of the header are the items' default.

    Raises:
      BadPayloadError: The body is not a JSON list.
      BadRequestError: There are too many items, or one is not a step.
    """
    items = parse_json(body)
    if not isinstance(items, list):
        raise BadPayloadError(f"/steps takes a JSON list of steps, got a {type(items).__name__}")
    if len(items) > MAX_BATCH_STEPS:
        raise BadRequestError(f"/steps takes at most {MAX_BATCH_STEPS} steps, got {len(items)}")
    purpose = parse_purpose(fields.get("purpose"))
    deadline = fields.get("deadline-ms")
    deadline_ms = None if deadline is None else parse_whole("deadline_ms", deadline)
    credentials = credentials_of(fields)
    steps: list[StepRequest] = []
    for at, item in enumerate(items):
        try:
            steps.append(_item(item, purpose, deadline_ms, credentials))
        except BadRequestError as error:
            raise BadRequestError(f"item {at} of /steps: {error}") from error
    return steps


def batch_reply(requests: list[StepRequest], answers: list[StepReply | StepError]) -> bytes:
    """Returns the body that answers a ``/steps`` request, in its order."""
    return orjson.dumps([_answer(request, answer) for request, answer in zip(requests, answers, strict=True)])


def write_json(value: Json) -> bytes:
    """Returns a value as JSON.

    Raises:
      AgentError: It is an agent's answer that is not JSON.
    """
    try:
        return orjson.dumps(value)
    except TypeError as error:
        raise AgentError(f"the agent answered a {type(value).__name__} that is not JSON: {error}") from error


def body_bytes(body: Body) -> bytes:
    """Returns a body as it stands in a message."""
    return body if isinstance(body, bytes) else write_json(body.value)


def error_text(error: StepError) -> str:
    """Returns the message of an error as it may stand in JSON."""
    return str(error).encode(errors="replace").decode()


def check_protocol(given: int) -> None:
    """Does nothing where the client speaks the service's version of the wire contract.

    Raises:
      ProtocolVersionError: It speaks another one.
    """
    if given != PROTOCOL:
        raise ProtocolVersionError(f"the client speaks protocol {given}, the service {PROTOCOL}")


def parse_json(body: bytes) -> Json:
    """Returns the value of a JSON body; an empty one is None.

    Raises:
      BadPayloadError: It is not JSON.
    """
    if not body:
        return None
    try:
        value: Json = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadPayloadError(f"the body is not JSON: {error}; it starts with {body[:40]!r}") from error
    return value


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


def _item(
    item: Json, purpose: Purpose | None, deadline_ms: float | None, credentials: Credentials | None
) -> StepRequest:
    if not isinstance(item, dict):
        raise BadRequestError(f"a step is an object, got {type(item).__name__}")
    session, kind, seq = item.get("session", ""), item.get("kind", "tick"), item.get("seq")
    if not isinstance(session, str) or not isinstance(kind, str):
        raise BadRequestError("session and kind are text")
    if seq is not None and (not isinstance(seq, int) or isinstance(seq, bool) or seq < 0):
        raise BadRequestError(f"seq is {seq!r}; allowed is a whole number from 0")
    own_purpose, own_deadline = item.get("purpose"), item.get("deadline_ms")
    return StepRequest(
        session=checked_session(session),
        kind=parse_kind(kind, session),
        body=_item_body(item),
        purpose=purpose if own_purpose is None else parse_purpose(str(own_purpose)),
        seq=seq,
        deadline_ms=deadline_ms if own_deadline is None else parse_whole("deadline_ms", str(own_deadline)),
        credentials=credentials,
        delta=item.get("delta") is True,
    )


def _item_body(item: dict[str, Json]) -> Body:
    encoded = item.get("body_b64")
    if encoded is None:
        return JsonBody(item.get("body"))
    if not isinstance(encoded, str):
        raise BadRequestError(f"body_b64 is a {type(encoded).__name__}; allowed is text")
    try:
        return base64.b64decode(encoded, validate=True)
    except ValueError as error:
        raise BadRequestError(f"body_b64 is not base64: {error}") from error


def _answer(request: StepRequest, answer: StepReply | StepError) -> dict[str, object]:
    if isinstance(answer, StepError):
        return {"session": request.session, "error": {"code": answer.code, "message": error_text(answer)}}
    reply: dict[str, object] = {"session": answer.session}
    if answer.is_json:
        reply["body"] = orjson.Fragment(answer.body)
    else:
        reply["body_b64"] = base64.b64encode(answer.body).decode()
    if answer.resumed_at is not None:
        reply["resumed_at"] = answer.resumed_at
    return reply
