"""WebSocket frames to messages of the native protocol, one a binary frame, and back; a library speaks the protocol."""

import logging
from collections.abc import Collection
from typing import Final

from websockets.datastructures import Headers
from websockets.exceptions import InvalidHeader
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import OPEN
from websockets.server import ServerProtocol

from app.errors import BadPayloadError, BadRequestError, OverloadedError, StepError, UnauthorizedError
from app.wire.http import HttpRequest

SWITCHING: Final = 101
"""Status of a handshake that was accepted."""

_log = logging.getLogger(__name__)
_log.setLevel(logging.WARNING)  # The library tells of each connection.


def handshake(request: HttpRequest, origins: Collection[str] | None = None) -> tuple[bytes, bool]:
    """Returns the reply to a request for a WebSocket, and whether the connection speaks it from now on.

    Args:
      request: The request.
      origins: Web pages whose scripts may ask, as ``https://host``; None allows any. Who sends no ``Origin`` is no
        browser, and is not asked for one.

    Raises:
      BadRequestError: A header field holds what none may hold.
      UnauthorizedError: The page is none of those that are allowed.
    """
    origin = request.fields.get("origin")
    if origins is not None and origin is not None and origin not in origins:
        raise UnauthorizedError(
            f"a WebSocket from the page of origin {origin[:80]!r} is refused; allowed: {', '.join(origins) or 'none'}"
        )
    try:
        asked = Request(request.path, Headers(request.fields))
    except InvalidHeader as error:
        raise BadRequestError(f"the request for a WebSocket is refused: {error}") from error
    response = ServerProtocol(logger=_log).accept(asked)
    return response.serialize(), response.status_code == SWITCHING


class WebSocket:
    """One connection behind its handshake: splits its bytes into messages, and frames those that leave."""

    def __init__(self, max_message_bytes: int) -> None:
        self._protocol = ServerProtocol(state=OPEN, max_size=max_message_bytes, logger=_log)
        self._message = bytearray()
        """The fragments of a message so far."""
        self._partial = False
        self.failure: StepError | None = None
        """Why no more messages come; None while they may."""

    @property
    def partial(self) -> bool:
        """Whether a frame or a message in fragments has begun to come that is not whole yet."""
        return self._partial

    @property
    def held_bytes(self) -> int:
        """Bytes of a message that is not whole yet."""
        return len(self._message) + len(self._protocol.reader.buffer)

    def refuse(self, error: StepError) -> None:
        """Lets the fragments of a message go, and takes no more messages."""
        self.failure = error
        self._message = bytearray()

    @property
    def open(self) -> bool:
        """Whether messages may still be sent."""
        return self._protocol.state is OPEN

    def feed(self, data: bytes) -> list[bytes]:
        """Returns the messages that these bytes complete; sets ``failure`` where there will be no more."""
        self._protocol.receive_data(data)
        events = self._protocol.events_received()
        if self.failure is not None:
            return []
        messages: list[bytes] = []
        for event in events:
            if isinstance(event, Frame):
                self._take(event, messages)
        protocol = self._protocol
        if self.failure is None and protocol.state is not OPEN:
            self.failure = BadRequestError(f"the WebSocket is closed: {protocol.parser_exc or protocol.close_rcvd}")
        self._partial = not events or protocol.current_size is not None or bool(protocol.reader.buffer)
        return messages

    def send(self, message: bytes) -> None:
        """Frames a message, unless the WebSocket is closed."""
        if self.open:
            self._protocol.send_binary(message)

    def ping(self) -> None:
        """Asks the peer for a sign of life."""
        if self.open:
            self._protocol.send_ping(b"")

    def close(self) -> None:
        """Says that no more messages leave, and why; does nothing where that was said."""
        if self.open:
            reason = "" if self.failure is None else str(self.failure)
            self._protocol.send_close(_code(self.failure), _short(reason))

    def to_send(self) -> list[bytes]:
        """Returns the bytes that must leave now; an empty piece stands for the end of all."""
        return self._protocol.data_to_send()

    def _take(self, frame: Frame, messages: list[bytes]) -> None:
        if self.failure is not None or frame.opcode in (Opcode.PING, Opcode.PONG, Opcode.CLOSE):
            return
        if frame.opcode is Opcode.TEXT:
            self.failure = BadRequestError("a text frame came; allowed are binary frames of one Request each")
        elif frame.fin and not self._message:
            messages.append(bytes(frame.data))
        else:
            self._message += frame.data
            if frame.fin:
                messages.append(bytes(self._message))
                self._message = bytearray()


def _code(failure: StepError | None) -> CloseCode:
    if failure is None:
        return CloseCode.GOING_AWAY
    if isinstance(failure, OverloadedError):
        return CloseCode.TRY_AGAIN_LATER
    return CloseCode.INVALID_DATA if isinstance(failure, BadPayloadError) else CloseCode.UNSUPPORTED_DATA


def _short(reason: str) -> str:
    """Returns a reason as long as a close frame may hold."""
    return reason.encode()[:120].decode(errors="ignore")
