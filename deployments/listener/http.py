"""HTTP/1.1 connections."""

import asyncio

from app.errors import AgentError, DrainingError, StepError, UnauthorizedError
from app.wire.http import CONTINUE, HttpRequest, refusal
from app.wire.http_reader import HttpReader
from deployments.listener.ordered import OrderedConnection, Slot
from deployments.listener.port import Connections


class HttpConnection(OrderedConnection[HttpRequest]):
    """One HTTP/1.1 connection."""

    __slots__ = ("_http",)

    def __init__(self, port: Connections) -> None:
        self._http = HttpReader(port.max_body_bytes)
        super().__init__(port, self._http)

    def data_received(self, data: bytes) -> None:
        """Begins to answer the requests that these bytes complete."""
        OrderedConnection.data_received(self, data)
        if self._http.expects_continue:
            self._let_continue()

    async def _reply(self, slot: Slot, request: HttpRequest) -> bytes:
        try:
            reply = await self._port.service.answer(request)
        except StepError as error:
            reply = refusal(error)
        except Exception as error:  # noqa: BLE001  # A bug of ours: the log has it, the game core an answer.
            self._port.failures.tell(error, f"a request failed: {request.method!r} {request.path}")
            reply = refusal(AgentError(f"the service failed: {type(error).__name__}"))
        head_only = request.method == b"HEAD"
        if reply.stream is not None and not head_only:
            slot.stream = reply.stream.parts
        return reply.encoded(close=slot.close, head_only=head_only)

    def _is_last(self, request: HttpRequest) -> bool:
        return not request.keep_alive or self._port.draining

    def _replied(self) -> None:
        OrderedConnection._replied(self)
        if self._http.expects_continue:
            self._let_continue()

    def _let_continue(self) -> None:
        """Tells a peer that waits with its body to send it, once all replies before it have left."""
        if self._transport is not None and not self._slots and not self._last_taken:
            self._http.expects_continue = False
            self._transport.write(CONTINUE)

    def _refuse(self, error: StepError) -> None:
        upgrade = self._http.upgrade
        if upgrade is None or upgrade.path != "/ws" or self._slots or self._transport is None:
            self._put(refusal(error).encoded(close=True), close=True)
        elif self._port.draining:
            self._put(refusal(DrainingError("this port takes no new WebSocket")).encoded(close=True), close=True)
        else:
            self._hand_over(upgrade, self._transport)

    def _hand_over(self, upgrade: HttpRequest, transport: asyncio.Transport) -> None:
        """Makes way for a WebSocket, or tells why there is none."""
        from app.wire.websocket import handshake  # noqa: PLC0415  # Few need the library, and all would wait for it.
        from deployments.listener.websocket import WebSocketConnection  # noqa: PLC0415  # As above.

        try:
            reply, accepted = handshake(upgrade, self._port.origins)
        except StepError as error:
            if isinstance(error, UnauthorizedError):
                self._port.tell_once("origins_refused", str(error))
            reply, accepted = refusal(error).encoded(close=True), False
        if not accepted:
            self._put(reply, close=True)
            return
        self._port.counts["connections_websocket"] += 1
        connection = WebSocketConnection(self._port)
        self._transport = None
        self._port.open.discard(self)
        transport.set_protocol(connection)
        connection.connection_made(transport)
        transport.write(reply)
        if self._http.rest:
            connection.data_received(self._http.rest)
