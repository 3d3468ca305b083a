"""Connections of length-prefixed protobuf messages."""

from app.wire.frames import FrameReader, frame
from deployments.listener.messages import MessageConnection
from deployments.listener.port import Connections


class NativeConnection(MessageConnection):
    """One connection."""

    __slots__ = ()

    def __init__(self, port: Connections) -> None:
        super().__init__(port, FrameReader(port.max_frame_bytes))

    def _send(self, message: bytes) -> None:
        if self._transport is not None and self._closing_s is None:
            self._transport.write(frame(message))
