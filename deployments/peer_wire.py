"""Steps between replicas as they stand on their links; no I/O.

A frame is a big-endian u32 length, then as many bytes: a u32 length of the head, the head, the body. The head is a JSON
list, which costs a fraction of what a protobuf message does. The first frame of a link is the greeting alone.
"""

import re
import struct
from abc import abstractmethod
from collections.abc import Iterator
from struct import Struct
from typing import Any, Final, NamedTuple

import orjson

from app.errors import (
    AgentError,
    BadPayloadError,
    BadRequestError,
    BodyTooLargeError,
    GameElsewhereError,
    StepError,
)
from app.types import Purpose, StepKind, Version
from app.wire.detect import MAX_FRAME_BYTES
from app.wire.frames import SIZE, Message, SizedReader, frame
from app.wire.steps import Credentials, StepReply, StepRequest, body_bytes, error_text
from deployments.secret import MAX_GREETING_BYTES, greeting, refuse_strangers

LINK_VERSION: Final = 1
"""Version of this format: replicas of another one, in the midst of an update, are refused with the greeting."""
_CARRIES: Final = f"link {LINK_VERSION}"

_KEY = re.compile(r"[!-~]+")
"""A key that a door may have admitted; where nobody needs one, clients may send any text, and none of it matters."""

_SIZES: Final = Struct(">II")
_KINDS: Final = {str(kind): kind for kind in StepKind}
_PURPOSES: Final[dict[str | None, Purpose | None]] = {None: None, **{str(purpose): purpose for purpose in Purpose}}


class PeerRequest(NamedTuple):
    """One step that another replica forwards."""

    number: int
    """What its reply goes by."""
    step: StepRequest
    via_gateway: bool
    """Whether it is to be forwarded and placed as if a client had sent it."""


class PeerReply(NamedTuple):
    """The owner's answer."""

    number: int
    answer: StepReply | StepError


def greeting_frame(secret: str) -> bytes:
    """Returns the first frame of a link, which shows that its sender is a replica of this service."""
    return frame(greeting(_CARRIES, secret).encode())


def request_frame(number: int, step: StepRequest, *, via_gateway: bool) -> bytes:
    """Returns the frame of a forwarded step.

    Raises:
      StepError: It cannot be forwarded.
    """
    given = step.credentials
    key = given.key if given is not None and _KEY.fullmatch(given.key) else None
    head = (number, via_gateway, step.session, step.kind, step.purpose, step.seq, step.deadline_ms, key, step.delta)
    try:
        return _frame(orjson.dumps(head), body_bytes(step.body))
    except TypeError as error:
        raise BadRequestError(f"the step of session {step.session!r} cannot be forwarded: {error}") from error


def reply_frame(number: int, answer: StepReply | StepError) -> bytes:
    """Returns the frame that answers a step; an answer that no frame holds becomes an error."""
    if isinstance(answer, StepError):
        return _error_frame(number, answer)
    version, resumed_at, endpoint = answer.version, answer.resumed_at, answer.endpoint
    generation, published = (None, None) if version is None else version
    head = (number, None, answer.session, answer.seq, generation, published, resumed_at, endpoint, answer.is_json)
    try:
        return _frame(orjson.dumps(head), answer.body)
    except TypeError as error:
        return _error_frame(number, AgentError(f"the answer cannot be brought back: {error}"))
    except BodyTooLargeError as error:
        return _error_frame(number, error)


class _PeerReader(SizedReader[Message]):
    """Reads the frames of a link."""

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        super().__init__(max_frame_bytes)

    def _message(self, data: bytes, at: int, end: int) -> Message:
        try:
            body_at = at + _SIZES.size + _SIZES.unpack_from(data, at)[1]
            if body_at > end:
                raise BadPayloadError(f"a head of {body_at - at} bytes in a frame of {end - at}")
            return self._read(orjson.loads(data[at + _SIZES.size : body_at]), data[body_at:end])
        except (ValueError, TypeError, KeyError, struct.error) as error:
            raise BadPayloadError(f"a frame of {end - at} bytes is none of link version {LINK_VERSION}") from error

    @abstractmethod
    def _read(self, head: Any, body: bytes) -> Message:
        """Returns the message; raises a ``ValueError``, ``TypeError`` or ``KeyError`` where the head is another's."""


class PeerRequestReader(_PeerReader[PeerRequest | None]):
    """Reads what a replica forwards; the first message is None: the greeting.

    Its failure is an ``UnauthorizedError`` where the greeting is not that of a replica of this service.
    """

    def __init__(self, secret: str) -> None:
        super().__init__(MAX_GREETING_BYTES)
        self._secret: str | None = secret
        """None once it has been shown."""

    def _message(self, data: bytes, at: int, end: int) -> PeerRequest | None:
        if self._secret is None:
            return super()._message(data, at, end)
        refuse_strangers(data[at + SIZE.size : end], _CARRIES, self._secret)
        self._secret = None
        self._max_frame = MAX_FRAME_BYTES
        return None

    def _read(self, head: Any, body: bytes) -> PeerRequest:
        number, via_gateway, session, kind, purpose, seq, deadline_ms, key, delta = head
        credentials = None if key is None else Credentials(key)
        step = StepRequest(session, _KINDS[kind], body, _PURPOSES[purpose], seq, deadline_ms, credentials, delta)
        return PeerRequest(number, step, via_gateway)


class PeerReplyReader(_PeerReader[PeerReply]):
    """Reads what the owner of games answers."""

    def _read(self, head: Any, body: bytes) -> PeerReply:
        if head[1] is not None:
            return PeerReply(head[0], _error(*head[1]))
        number, _, session, seq, generation, published, resumed_at, endpoint, is_json = head
        version = None if generation is None else Version(generation, published)
        return PeerReply(number, StepReply(session, body, seq, version, resumed_at, endpoint, is_json))


def _frame(head: bytes, body: bytes) -> bytes:
    size = SIZE.size + len(head) + len(body)
    if size > MAX_FRAME_BYTES:
        raise BodyTooLargeError(f"{size} bytes are too many for a link between replicas; allowed are {MAX_FRAME_BYTES}")
    return _SIZES.pack(size, len(head)) + head + body


def _error_frame(number: int, error: StepError) -> bytes:
    where = (error.game, error.owner) if isinstance(error, GameElsewhereError) else None
    told = (type(error).__name__, error.code, error_text(error), error.retry_after_s, where)
    return _frame(orjson.dumps((number, told)), b"")


def _error(name: str, code: str, message: str, retry_after_s: int | None, where: list[str] | None) -> StepError:
    """Returns an error of the class that the owner has raised, else of the first that has its code."""
    if where is not None:
        return GameElsewhereError(*where)
    known = [*_classes(StepError)]
    fitting = [kind for kind in known if kind.__name__ == name] or [kind for kind in known if kind.code == code]
    error = (fitting[0] if fitting else AgentError)(message)
    if error.retry_after_s != retry_after_s:
        setattr(error, "retry_after_s", retry_after_s)  # noqa: B010  # Of this one only, whatever its class says.
    return error


def _classes(base: type[StepError]) -> Iterator[type[StepError]]:
    """Returns the classes of errors that are made from a message alone."""
    for child in base.__subclasses__():
        if child is not GameElsewhereError:
            yield child
            yield from _classes(child)
    if base is StepError:
        yield base
