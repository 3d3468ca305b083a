"""HTTP/1.1 connections."""

import logging

from app.errors import AgentError, StepError
from app.wire.http import CONTINUE, HttpRequest, refusal
from app.wire.http_reader import HttpReader
from deployments.listener.ordered import OrderedConnection, Slot
from deployments.listener.port import Connections

_log = logging.getLogger(__name__)


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
            _log.exception("a request failed: %s %s", request.method, request.path)
            reply = refusal(AgentError(f"the service failed: {type(error).__name__}"))
        return reply.encoded(close=slot.close, head_only=request.method == b"HEAD")

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
        self._put(refusal(error).encoded(close=True), close=True)
