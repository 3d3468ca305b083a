"""Frames: messages whose head tells their size, cut out of a connection's bytes; no I/O."""

from abc import ABC, abstractmethod
from struct import Struct
from typing import ClassVar, Final, Generic, TypeVar

from app.errors import BadRequestError, BodyTooLargeError, StepError

MAX_ENVELOPE_BYTES: Final = 64 * 1024
"""Bytes of a native message beside the bodies of its steps."""

SIZE: Final = Struct(">I")
"""Length of a frame, which stands before it."""

Message = TypeVar("Message")


class HeadedReader(ABC, Generic[Message]):
    """Cuts a connection's bytes into messages; of one that is not whole no more is held than has come."""

    head_bytes: ClassVar[int]
    """Bytes in front of each message that tell its size."""

    def __init__(self) -> None:
        self._held = bytearray()
        """The begin of a message."""
        self._wanted = self.head_bytes
        """Bytes that must be held before anything more can be known."""
        self.failure: StepError | None = None
        """Why the connection is beyond use; None while it is good."""

    @property
    def partial(self) -> bool:
        """Whether a message has begun that is not whole yet."""
        return bool(self._held)

    @property
    def held_bytes(self) -> int:
        """Bytes of a message that is not whole yet."""
        return len(self._held)

    def refuse(self, error: StepError) -> None:
        """Lets the message go that has begun, and reads nothing more."""
        self.failure = error
        self._held = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """Returns the messages that these bytes complete; sets ``failure`` where bytes behind them are refused."""
        if self.failure is not None:
            return []
        if self._held:
            self._held += data
            if len(self._held) < self._wanted:
                return []
            data = bytes(self._held)
            self._held = bytearray()
        messages: list[Message] = []
        try:
            at = self._cut(data, messages)
        except StepError as error:
            self.failure = error
            return messages
        if at < len(data):
            self._held += memoryview(data)[at:]
        return messages

    def _cut(self, data: bytes, messages: list[Message]) -> int:
        """Appends the whole messages and returns where the rest begins."""
        at, end = 0, len(data)
        while end - at >= self.head_bytes:
            whole = self._whole_bytes(data, at)
            if end - at < whole:
                self._wanted = whole
                return at
            messages.append(self._message(data, at, at + whole))
            at += whole
        self._wanted = self.head_bytes
        return at

    @abstractmethod
    def _whole_bytes(self, data: bytes, at: int) -> int:
        """Returns the size of the message that begins here, head and all.

        Raises:
          StepError: Its head tells a size that is not allowed.
        """

    @abstractmethod
    def _message(self, data: bytes, at: int, end: int) -> Message:
        """Returns the whole message that stands here; its head was the last one asked for.

        Raises:
          StepError: It cannot be read.
        """


class SizedReader(HeadedReader[Message]):
    """Reads frames: a big-endian u32 length, then as many bytes."""

    head_bytes = SIZE.size
    may_be_empty: ClassVar[bool] = True

    def __init__(self, max_frame_bytes: int) -> None:
        super().__init__()
        self._max_frame = max_frame_bytes

    def _whole_bytes(self, data: bytes, at: int) -> int:
        (size,) = SIZE.unpack_from(data, at)
        if size > self._max_frame:
            raise BodyTooLargeError(f"a frame of {size} bytes was declared; allowed are {self._max_frame}")
        if size == 0 and not self.may_be_empty:
            raise BadRequestError(f"a frame of 0 bytes was declared; allowed are 1 to {self._max_frame}")
        return SIZE.size + int(size)


class FrameReader(SizedReader[bytes]):
    """Reads native frames."""

    may_be_empty = False

    def _message(self, data: bytes, at: int, end: int) -> bytes:
        return data[at + SIZE.size : end]


def frame(payload: bytes) -> bytes:
    """Returns a native frame."""
    return SIZE.pack(len(payload)) + payload
