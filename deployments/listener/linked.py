"""Connections of other replicas of this service: replies that leave together, and strangers that are turned away."""

import asyncio
from typing import ClassVar, cast

from app.errors import StepError, UnauthorizedError
from deployments.framed_link import MAX_IN_FLIGHT
from deployments.joined import JoinedWriter
from deployments.listener.port import Connections
from deployments.listener.requests import Reader, Request, RequestConnection


class LinkedConnection(RequestConnection[Request]):
    """Joins the replies of one turn of the event loop into one write."""

    __slots__ = ("_writer",)

    most_under_way: ClassVar[int] = MAX_IN_FLIGHT

    what: ClassVar[str]
    """What such a connection is called, such as "a connection to a model"."""

    def __init__(self, port: Connections, reader: Reader[Request]) -> None:
        super().__init__(port, reader)
        self._writer: JoinedWriter | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Notes the transport."""
        super().connection_made(transport)
        self._writer = JoinedWriter(self._port.loop, cast("asyncio.Transport", transport))

    def close(self) -> None:
        """Closes the connection after what is written has left."""
        self._flush()
        super().close()

    def _end(self) -> None:
        self._flush()
        super()._end()

    def _flush(self) -> None:
        if self._writer is not None:
            self._writer.flush()

    def _refuse(self, error: StepError) -> None:
        """Closes at once: who does not speak this format reads no reply in it."""
        if isinstance(error, UnauthorizedError):
            self._port.tell_once("peers_refused", f"{self.what} was refused: {error}")
        self.close()
