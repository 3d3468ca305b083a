"""What the service answers to a step, and the bodies of both directions."""

from base64 import b64decode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from app.client.errors import UnreadableReplyError
from app.client.reply import Reply
from app.client.steps import OK, StepAnswer, decode, encode
from app.wire.protobufs import is_message

if TYPE_CHECKING:
    from google.protobuf.message import Message

JSON = "application/json"
PROTOBUF = "application/x-protobuf"
BYTES = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Answer:
    """The agent's answer to one step.

    Attributes:
      value: The answer: a JSON value, a message where the session has a reply type, or bytes.
      body: Its bytes as they came.
      seq: Number of the step: 0 is the start.
      policy_version: ``generation.number`` of the weights behind it; None where no model was asked.
      resumed_at: Last step that the game remembers, where its replica was lost and it goes on from a snapshot with
        this answer; else None.
    """

    value: Any  # What JSON holds is for the caller to know, who shall not have to cast it.
    body: bytes
    seq: int
    policy_version: str | None
    resumed_at: int | None


def encode_body(payload: object) -> tuple[bytes, str]:
    """Returns the bytes of a body and their media type: of bytes, a protobuf message, or any JSON value.

    None is no body; numpy arrays and scalars are JSON as well.

    Raises:
      TypeError: It is none of these.
    """
    if isinstance(payload, bytes | bytearray | memoryview):
        return bytes(payload), BYTES
    if is_message(payload):
        return payload.SerializeToString(), PROTOBUF
    if payload is None:
        return b"", JSON
    try:
        return encode(payload), JSON
    except TypeError as error:  # orjson's message names the type that it met, not where it stands.
        kind = type(payload).__name__
        raise TypeError(f"a body is bytes, a protobuf message or JSON; got a {kind}: {error}") from error


def read_reply(reply: Reply, seq: int, reply_type: "type[Message] | None") -> Answer:
    """Returns the answer in a good reply to ``/step``.

    Args:
      reply: What came.
      seq: Number of the step.
      reply_type: Message that a body other than JSON holds; None leaves it as bytes.

    Raises:
      UnreadableReplyError: The body is not what its media type or ``reply_type`` says.
    """
    resumed_at = header(reply, "resumed_at")
    is_json = reply.headers.get("content-type", "").startswith(JSON)
    return Answer(
        value=_json(reply.body) if is_json else _parsed(reply.body, reply_type),
        body=reply.body,
        seq=seq,
        policy_version=header(reply, "policy_version"),
        resumed_at=None if resumed_at is None else _whole(resumed_at),
    )


def read_answer(answer: StepAnswer, seq: int, reply_type: "type[Message] | None") -> Answer:
    """Returns the answer that stands in a reply to ``/steps``.

    Raises:
      UnreadableReplyError: Its bytes are no base64, or not ``reply_type``.
    """
    encoded = answer.get("body_b64")
    if encoded is None:
        value = answer.get("body")
        body = orjson.dumps(value)
    else:
        body = _from_base64(encoded)
        value = _parsed(body, reply_type)
    return Answer(value, body, seq, answer.get("policy_version"), answer.get("resumed_at"))


def header(reply: Reply, name: str) -> str | None:
    """Returns a header written with ``_`` or ``-``; None where it is missing."""
    value = reply.headers.get(name)
    return reply.headers.get(name.replace("_", "-")) if value is None else value


def _json(body: bytes) -> object:
    return decode(body) if body else None


def _parsed(body: bytes, reply_type: "type[Message] | None") -> object:
    if reply_type is None:
        return body
    from google.protobuf.message import DecodeError  # noqa: PLC0415  # Who names a type has it; others need not.

    try:
        return reply_type.FromString(body)
    except DecodeError as error:
        name, shown = reply_type.DESCRIPTOR.full_name, body[:40]
        raise UnreadableReplyError("bad_reply", f"the reply is no {name}: {error}; it starts {shown!r}", OK) from error


def _from_base64(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError as error:
        raise UnreadableReplyError("bad_reply", f"body_b64 is not base64: {error}", OK) from error


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise UnreadableReplyError("bad_reply", f"resumed_at is {text[:40]!r}; allowed is a whole number", OK)
    return int(text)
