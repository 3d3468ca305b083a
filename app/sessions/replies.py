"""The newest replies of a session, for steps that are repeated."""

from typing import Final

from app.wire.steps import StepReply

REPLIES_KEPT: Final = 8
"""Newest replies that a retry with the same sequence number gets again."""
REPLY_BYTES_KEPT: Final = 64 * 1024
"""Bytes of bodies kept for one session; the newest reply is kept whatever its size."""


class Replies:
    """Replies by sequence number, the oldest first."""

    __slots__ = ("_bytes", "_kept")

    def __init__(self) -> None:
        self._kept: dict[int, StepReply] = {}
        self._bytes = 0

    def add(self, reply: StepReply) -> None:
        """Keeps the next reply and forgets what is beyond the bounds."""
        kept = self._kept
        kept[reply.seq] = reply
        self._bytes += len(reply.body)
        while len(kept) > REPLIES_KEPT or (self._bytes > REPLY_BYTES_KEPT and len(kept) > 1):
            self._bytes -= len(kept.pop(next(iter(kept))).body)

    def get(self, seq: int) -> StepReply | None:
        """Returns the reply of a number; None where it is not kept."""
        return self._kept.get(seq)

    def all(self) -> list[StepReply]:
        """Returns the kept replies, the oldest first."""
        return list(self._kept.values())
