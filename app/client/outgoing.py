"""Steps on their way: encoded once, sent as often as it takes; large states as differences."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

import orjson

from app.client.answer import PROTOBUF, encode_body
from app.client.steps import TICK
from app.wire.compression import deflate
from app.wire.merge_patch import difference
from app.wire.protobufs import is_message
from app.wire.step_fields import MERGE_PATCH
from app.wire.steps import Json

if TYPE_CHECKING:
    from google.protobuf.message import Message

State = Union[Json, "Message"]
"""What a difference can be to; None is nothing yet."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One step as it is sent.

    Attributes:
      kind: Its kind.
      seq: Its number.
      headers: Those that its body needs.
      body: Its body, compressed if the headers say so.
      whole: The state that the session knows once it is answered, where differences are sent; else None.
      delta: Whether the body is a difference.
    """

    kind: str
    seq: int
    headers: dict[str, str]
    body: bytes
    whole: State = None
    delta: bool = False


class Encoder:
    """Encodes the steps of one session."""

    def __init__(self, *, delta: bool, compression: str) -> None:
        """Makes the encoder.

        Args:
          delta: Send ticks as differences to the last answered one where that is shorter.
          compression: Content encoding of bodies that gain by it; empty for none.
        """
        self._delta = delta
        self._compression = compression
        self._answered: State = None

    def encode(self, kind: str, seq: int, payload: object, *, plain: bool = False) -> Outgoing:
        """Returns the step that carries a payload; plain is neither compressed nor a difference.

        Raises:
          TypeError: The payload is neither bytes, message nor JSON.
        """
        body, media_type = encode_body(payload)
        if not self._delta or kind != TICK:
            return self._outgoing(kind, seq, body, media_type, plain=plain)
        # The caller may change its state in place: what is kept is a copy, and of arrays their lists.
        whole = _copy(payload, body)
        patch = None if plain else _patch(self._answered, whole)
        if patch is None or len(patch) >= len(body):
            return self._outgoing(kind, seq, body, media_type, whole, plain=plain)
        return self._outgoing(kind, seq, patch, PROTOBUF if media_type == PROTOBUF else MERGE_PATCH, whole, delta=True)

    def answered(self, step: Outgoing) -> None:
        """Notes that the service has the state of this step."""
        if step.kind == TICK:
            self._answered = step.whole

    def forget(self) -> None:
        """Sends the next state whole: it is not sure what the service has."""
        self._answered = None

    def _outgoing(
        self,
        kind: str,
        seq: int,
        body: bytes,
        media_type: str,
        whole: State = None,
        *,
        delta: bool = False,
        plain: bool = False,
    ) -> Outgoing:
        packed, encoding = deflate(body, "" if plain else self._compression)
        headers = {"content-type": media_type, "step-kind": kind, "seq": str(seq)}
        if encoding is not None:
            headers["content-encoding"] = encoding
        if delta:
            headers["delta"] = "1"
        return Outgoing(kind, seq, headers, packed, whole, delta)


def _copy(payload: object, body: bytes) -> State:
    if is_message(payload):
        return type(payload).FromString(body)
    if payload is None or isinstance(payload, bytes | bytearray | memoryview):
        return None
    value: Json = orjson.loads(body)
    return value


def _patch(old: State, new: State) -> bytes | None:
    """Returns the difference; None where there is none, or nothing to differ from."""
    try:
        if is_message(old):
            from app.wire.field_merge import field_difference  # noqa: PLC0415  # It needs protobuf.

            return field_difference(old, new).SerializeToString() if isinstance(new, type(old)) else None
        if isinstance(old, dict) and isinstance(new, dict):
            return orjson.dumps(difference(old, new))
    except ValueError:  # What became null, or was cleared, can only be said as a whole.
        return None
    return None
