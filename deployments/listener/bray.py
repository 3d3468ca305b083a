"""Connections that speak Bray's TCP framing."""

import logging
from typing import ClassVar

from app.errors import StepError
from app.wire.bray import BrayReader, BrayRequest, encoded
from deployments.listener.ordered import OrderedConnection, Slot
from deployments.listener.port import Connections

_log = logging.getLogger(__name__)


class BrayConnection(OrderedConnection[BrayRequest]):
    """One connection; an error has no reply in this protocol, it closes the connection."""

    __slots__ = ()

    stays: ClassVar[bool] = True

    def __init__(self, port: Connections) -> None:
        super().__init__(port, BrayReader(port.max_body_bytes))

    async def _reply(self, slot: Slot, request: BrayRequest) -> bytes:
        try:
            return encoded(await self._port.service.step(request.step), request.time)
        except StepError as error:
            self._tell(error)
        except Exception as error:  # noqa: BLE001  # A bug of ours: the log has it.
            self._port.failures.tell(error, f"a step failed: {request.step.kind} of session {request.step.session!r}")
            self._port.counts["bray_errors"] += 1
        slot.close = True
        return b""

    def _is_last(self, request: BrayRequest) -> bool:  # Only an error ends the connection.
        return False

    def _refuse(self, error: StepError) -> None:
        self._tell(error)
        self._put(b"", close=True)

    def _tell(self, error: StepError) -> None:
        self._port.counts["bray_errors"] += 1
        _log.debug("a Bray connection is closed: %s: %s", error.code, error)
