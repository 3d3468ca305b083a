"""A new connection: waits for the bytes that tell its protocol, and makes way for it."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from app.errors import HttpVersionError
from app.wire.detect import FIRST_BYTES, Speech, detect
from app.wire.http import refusal
from deployments.listener.bray import BrayConnection
from deployments.listener.connection import Connection
from deployments.listener.http import HttpConnection
from deployments.listener.native import NativeConnection
from deployments.listener.port import Connections

DETECT_TIMEOUT_S: Final = 5.0
"""Longest wait for the rest of the first bytes, once one of them is there."""

Speakers = Mapping[Speech, Callable[[Connections], Connection]]
"""What is spoken on a port, and who speaks it there."""

SPEAKERS: Final[Speakers] = {
    Speech.HTTP: HttpConnection,
    Speech.BRAY: BrayConnection,
    Speech.NATIVE: NativeConnection,
}


class DetectingConnection(Connection):
    """A connection that has not told its protocol yet; one that says nothing at all is idle."""

    __slots__ = ("_first", "_speakers")

    def __init__(self, port: Connections, speakers: Speakers = SPEAKERS) -> None:
        """Makes a connection of a port.

        Args:
          port: What all its connections share.
          speakers: The protocols that it serves; a connection of another one is closed.
        """
        super().__init__(port)
        self._speakers = speakers
        self._first = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Notes the transport, or closes it where there are too many."""
        self._transport = transport  # type: ignore[assignment]
        if not self._port.admit(self):
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Hands the connection over to the protocol that its first bytes tell."""
        self._fed += len(data)
        self._first += data
        if len(self._first) < FIRST_BYTES or self._transport is None or self._closing_s is not None:
            return
        speech = detect(self._first)
        self._port.counts[f"connections_{speech.name.lower()}"] += 1
        speaker = self._speakers.get(speech)
        if speaker is None:
            self._refuse(speech)
            return
        first, transport = self._first, self._transport
        connection = speaker(self._port)
        self._port.open.discard(self)
        transport.set_protocol(connection)
        connection.connection_made(transport)
        connection.data_received(first)

    def eof_received(self) -> None:
        """Closes: what has come so far asks for nothing."""

    def _refuse(self, speech: Speech) -> None:
        if self._transport is None:
            return
        if speech is Speech.HTTP2:
            error = HttpVersionError("HTTP/2 is not served on this port; speak HTTP/1.1")
            self._transport.write(refusal(error).encoded(close=True))
            self._end()
            return
        if speech is Speech.TLS:
            peer = self._transport.get_extra_info("peername")
            self._port.tell_once(
                "tls_on_plain_port", f"TLS on a plain port, from {peer}; put a TLS proxy in front of it"
            )
        self.close()

    def _partial(self) -> bool:
        return bool(self._first)

    def _partial_limit_s(self) -> float:
        return min(DETECT_TIMEOUT_S, self._port.limits.header_timeout_s)
