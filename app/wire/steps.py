"""Steps of sessions, their answers, and the bodies of both: what every protocol is read into and written from."""

from dataclasses import dataclass
from typing import NamedTuple

import orjson

from app.errors import AgentError, BadPayloadError, StepError
from app.words import Purpose, StepKind, Version

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
