"""Bray's TCP framing: bytes to steps, and replies to bytes; no I/O.

A request is six big-endian int64, the sizes of session, step kind, key, token and body and then a time, and behind
them these five byte strings. A reply is three, the sizes of session and body and the time as it came, then the two
strings. There is no reply that tells an error: the connection is closed instead.
"""

from dataclasses import dataclass
from struct import Struct
from typing import Final

from app.errors import BadRequestError, BodyTooLargeError
from app.wire.frames import HeadedReader
from app.wire.step_fields import checked_session, parse_kind
from app.wire.steps import Credentials, StepReply, StepRequest

MAX_NAME_BYTES: Final = 32 * 1024
"""Largest session, step kind, key and token together; what the head of an HTTP request may have."""

_REQUEST: Final = Struct(">6q")
_REPLY: Final = Struct(">3q")


@dataclass(frozen=True, slots=True)
class BrayRequest:
    """One step, and the time that its reply gives back."""

    step: StepRequest
    time: int


class BrayReader(HeadedReader[BrayRequest]):
    """Splits a connection's bytes into requests."""

    head_bytes = _REQUEST.size

    def __init__(self, max_body_bytes: int) -> None:
        super().__init__()
        self._max_body = max_body_bytes
        self._head: tuple[int, ...] = ()

    def _whole_bytes(self, data: bytes, at: int) -> int:
        self._head = _REQUEST.unpack_from(data, at)
        session, kind, key, token, body, _ = self._head
        if min(session, kind, key, token, body) < 0:
            raise BadRequestError(f"the sizes {self._head[:5]} were declared; none may be below 0")
        if body > self._max_body:
            raise BodyTooLargeError(f"{body} bytes were declared; allowed are {self._max_body}")
        names = session + kind + key + token
        if names > MAX_NAME_BYTES:
            raise BadRequestError(
                f"session, step kind, key and token of {names} bytes were declared; allowed are {MAX_NAME_BYTES}"
            )
        return _REQUEST.size + names + body

    def _message(self, data: bytes, at: int, end: int) -> BrayRequest:
        session_size, kind_size, key_size, token_size, _, time = self._head
        kind_at = at + _REQUEST.size + session_size
        key_at = kind_at + kind_size
        token_at = key_at + key_size
        body_at = token_at + token_size
        try:
            session = data[at + _REQUEST.size : kind_at].decode()
            kind = data[kind_at:key_at].decode()
            key, token = data[key_at:token_at].decode(), data[token_at:body_at].decode()
        except UnicodeDecodeError as error:
            raise BadRequestError(f"session, step kind, key and token are UTF-8: {error}") from error
        checked_session(session)
        credentials = Credentials(key, str(time), token) if key else None
        return BrayRequest(
            StepRequest(session, parse_kind(kind, session), data[body_at:end], credentials=credentials), time
        )


def encoded(reply: StepReply, time: int) -> bytes:
    """Returns the bytes of a reply.

    Args:
      reply: The answer.
      time: As it stood in the request.
    """
    session = reply.session.encode()
    return b"%b%b%b" % (_REPLY.pack(len(session), len(reply.body), time), session, reply.body)
