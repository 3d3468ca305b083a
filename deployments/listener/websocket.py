"""WebSocket connections: one message of the native protocol a binary frame."""

from typing import Final

from app.errors import StepError
from app.wire.messages import error_message
from app.wire.websocket import WebSocket
from deployments.listener.messages import MessageConnection
from deployments.listener.port import Connections

PING_SHARE: Final = 1 / 3
"""Share of the idle time-out after which a silent peer is asked for a sign of life."""


class WebSocketConnection(MessageConnection):
    """One connection, behind its handshake."""

    __slots__ = ("_pinged", "_socket")

    def __init__(self, port: Connections) -> None:
        self._socket = WebSocket(port.max_frame_bytes)
        super().__init__(port, self._socket)
        self._pinged = -1
        """Bytes that had come at the last ping."""

    def data_received(self, data: bytes) -> None:
        """Begins to answer the requests that these bytes complete, and says what the protocol wants said."""
        if self._last_taken:
            self._fed += len(data)
            self._socket.feed(data)  # The peer's own goodbye.
        else:
            MessageConnection.data_received(self, data)
        self._write()

    def sweep(self, now_s: float) -> None:
        """Closes the connection where the peer has kept it waiting for too long, and pings a silent one before."""
        MessageConnection.sweep(self, now_s)
        if self._pinged != self._fed and now_s - self._heard[0] > self._port.limits.idle_timeout_s * PING_SHARE:
            self._pinged = self._fed
            self._socket.ping()
            self._write()

    def _send(self, message: bytes) -> None:
        self._socket.send(message)
        self._write()

    def _refuse(self, error: StepError) -> None:
        self._socket.failure = error
        self._send(error_message(0, error))

    def _end(self) -> None:
        """Says goodbye; the connection ends with the peer's own, or without it after a while."""
        if self._transport is None or self._transport.is_closing():
            return
        if self._peer_ended:
            self.close()
            return
        self._socket.close()
        self._write()
        self._closing_s = self._closing_s or self._port.loop.time()

    def _write(self) -> None:
        for piece in self._socket.to_send():
            if self._transport is None or self._transport.is_closing():
                return
            if piece:
                self._transport.write(piece)
            else:
                self._closing_s = self._closing_s or self._port.loop.time()
                self._transport.write_eof()
