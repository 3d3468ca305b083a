"""Questions to a model replica and its answers as they stand on a kept connection; no I/O.

A frame is a big-endian u32 length, then as many bytes: a fixed head and the leaves one behind the other, each as its
raw bytes; behind those of an answer stand the rows that failed. Both ends know the model's spec, so nothing else needs
to be told. The first frame is the greeting alone, with a hash of the spec.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple

import numpy as np

from app.errors import BadPayloadError, BodyTooLargeError
from app.models.engine import Answer
from app.models.question import Leaves
from app.models.spec import ArraySpec, ModelSpec, spec_hash
from app.models.waiting import Within
from app.types import Version
from app.wire.detect import MAX_FRAME_BYTES
from app.wire.frames import SIZE, Message, SizedReader, frame
from deployments.model_errors import packed_error, packed_failures, read_error, read_failures
from deployments.secret import MAX_GREETING_BYTES, greeting, refuse_strangers

WIRE_VERSION: Final = 2
"""Version of this format: replicas of another one, in the midst of an update, are refused with the greeting."""

_CALL: Final = Struct(">QIqqdd")
"""Number, rows, version, and when answers are wanted."""
_REPLY: Final = Struct(">QIqqI")
"""Number, rows (0 where an error follows), version, and the observations that wait in the replica."""
_NEWEST: Final = (-1, -1)


class ModelCall(NamedTuple):
    """What a caller asks."""

    number: int
    """What its reply goes by."""
    inputs: Leaves
    states: Leaves
    version: Version | None
    within: Within
    """When answers are wanted, in seconds from now."""


class ModelReply(NamedTuple):
    """What came of it."""

    number: int
    answer: Answer | Exception
    waiting_rows: int
    """Observations that wait in the replica."""


class Layout:
    """How the leaves of a batch stand in bytes."""

    def __init__(self, leaves: Sequence[ArraySpec]) -> None:
        self._parts = [(np.dtype(leaf.dtype), leaf.shape) for leaf in leaves]
        sizes = [dtype.itemsize * int(np.prod(shape)) for dtype, shape in self._parts]
        self._sizes = sizes
        self.row_bytes = sum(sizes)
        """Bytes of one row."""

    def packed(self, leaves: Leaves) -> list[memoryview]:
        """Returns the bytes of the leaves, each [B, …]; one of another dtype is converted."""
        return [
            np.ascontiguousarray(leaf, dtype).reshape(-1).view(np.uint8).data
            for leaf, (dtype, _) in zip(leaves, self._parts, strict=True)
        ]

    def unpacked(self, data: bytes, at: int, rows: int) -> Leaves:
        """Returns the leaves that stand in ``data`` from ``at`` on, as arrays of their own, [rows, …]."""
        leaves: Leaves = []
        for (dtype, shape), size in zip(self._parts, self._sizes, strict=True):
            count = rows * size // dtype.itemsize
            leaves.append(np.frombuffer(data, dtype, count, at).reshape(rows, *shape).copy())
            at += rows * size
        return leaves


class ModelWire:
    """Writes and reads the frames of one model."""

    def __init__(self, spec: ModelSpec, secret: str) -> None:
        """Prepares the layouts.

        Args:
          spec: The model's shapes.
          secret: The cluster's.
        """
        self._asked = Layout([*spec.inputs.leaves, *spec.states.leaves])
        self._answered = Layout([*spec.answers.leaves, *spec.states.leaves])
        self._inputs, self._answers = len(spec.inputs), len(spec.answers)
        self._carries = f"model {WIRE_VERSION} {spec_hash(spec, {})}"
        self._secret = secret

    def greeting(self) -> bytes:
        """Returns the first frame of a connection."""
        return frame(greeting(self._carries, self._secret).encode())

    def refuse_strangers(self, shown: bytes) -> None:
        """Does nothing where a first frame is the greeting of who asks this model.

        Raises:
          UnauthorizedError: It is not.
        """
        refuse_strangers(shown, self._carries, self._secret)

    def call(self, call: ModelCall) -> bytes:
        """Returns the frame of a question.

        Raises:
          BodyTooLargeError: No frame holds it.
        """
        number, inputs, states, version, within = call
        head = _CALL.pack(number, len(inputs[0]), *(_NEWEST if version is None else version), *within)
        return _frame(head, self._asked.packed([*inputs, *states]))

    def reply(self, reply: ModelReply) -> bytes:
        """Returns the frame of an answer; an error's message is cut, and one that no frame holds becomes an error."""
        number, answer, waiting_rows = reply
        if isinstance(answer, Exception):
            return _frame(_REPLY.pack(number, 0, *_NEWEST, waiting_rows), [packed_error(answer)])
        head = _REPLY.pack(number, len(answer.outputs[0]), *answer.version, waiting_rows)
        try:
            return _frame(
                head, [*self._answered.packed([*answer.outputs, *answer.states]), packed_failures(answer.failures)]
            )
        except BodyTooLargeError as error:
            return self.reply(ModelReply(number, error, waiting_rows))

    def read_call(self, data: bytes, at: int, end: int) -> ModelCall:
        """Returns the question in a frame's content.

        Raises:
          BadPayloadError: It is none.
        """
        if end - at < _CALL.size:
            raise BadPayloadError(f"a question of {end - at} bytes; at least {_CALL.size} are its head")
        number, rows, generation, published, *times = _CALL.unpack_from(data, at)
        at += _CALL.size
        if rows == 0 or end - at != rows * self._asked.row_bytes:
            raise BadPayloadError(f"{rows} observations of {self._asked.row_bytes} bytes each in {end - at} bytes")
        leaves = self._asked.unpacked(data, at, rows)
        version = None if (generation, published) == _NEWEST else Version(generation, published)
        return ModelCall(number, leaves[: self._inputs], leaves[self._inputs :], version, Within(*times))

    def read_reply(self, data: bytes, at: int, end: int) -> ModelReply:
        """Returns the answer in a frame's content.

        Raises:
          BadPayloadError: It is none.
        """
        if end - at < _REPLY.size:
            raise BadPayloadError(f"an answer of {end - at} bytes; at least {_REPLY.size} are its head")
        number, rows, generation, published, waiting_rows = _REPLY.unpack_from(data, at)
        at += _REPLY.size
        if rows == 0:
            return ModelReply(number, read_error(data[at:end]), waiting_rows)
        leaves_end = at + rows * self._answered.row_bytes
        if end < leaves_end:
            raise BadPayloadError(f"{rows} answers of {self._answered.row_bytes} bytes each in {end - at} bytes")
        leaves = self._answered.unpacked(data, at, rows)
        failures = read_failures(data[leaves_end:end], rows)
        answer = Answer(leaves[: self._answers], leaves[self._answers :], Version(generation, published), failures)
        return ModelReply(number, answer, waiting_rows)


class _ModelReader(SizedReader[Message]):
    """Reads the frames of a model's connection."""

    def __init__(self, wire: ModelWire, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        super().__init__(max_frame_bytes)
        self._wire = wire


class ModelCallReader(_ModelReader[ModelCall | None]):
    """Reads what callers ask; the first message is None: the greeting.

    Its failure is an ``UnauthorizedError`` where the greeting is not that of a replica of this service.
    """

    def __init__(self, wire: ModelWire) -> None:
        super().__init__(wire, MAX_GREETING_BYTES)
        self._greeted = False

    def _message(self, data: bytes, at: int, end: int) -> ModelCall | None:
        if self._greeted:
            return self._wire.read_call(data, at + SIZE.size, end)
        self._wire.refuse_strangers(data[at + SIZE.size : end])
        self._greeted = True
        self._max_frame = MAX_FRAME_BYTES
        return None


class ModelReplyReader(_ModelReader[ModelReply]):
    """Reads what a model replica answers."""

    def _message(self, data: bytes, at: int, end: int) -> ModelReply:
        return self._wire.read_reply(data, at + SIZE.size, end)


def _frame(head: bytes, parts: Sequence[memoryview | bytes]) -> bytes:
    size = len(head) + sum(map(len, parts))
    if size > MAX_FRAME_BYTES:
        raise BodyTooLargeError(f"{size} bytes are too many for a model's connection; allowed are {MAX_FRAME_BYTES}")
    return b"".join((SIZE.pack(size), head, *parts))
