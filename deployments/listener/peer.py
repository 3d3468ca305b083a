"""Connections of other replicas, which forward steps."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import ClassVar, Final, cast

from app.errors import AgentError, StepError, UnauthorizedError
from app.wire.steps import StepReply, StepRequest
from deployments.framed_link import MAX_IN_FLIGHT
from deployments.joined import JoinedWriter
from deployments.listener.port import Connections
from deployments.listener.requests import RequestConnection
from deployments.peer_wire import PeerRequest, PeerRequestReader, reply_frame

FAILED: Final = "a step of another replica failed"

StepOfPeer = Callable[[StepRequest, bool], Awaitable[StepReply]]
"""Answers a step that another replica forwards, and whether that is a gateway, or raises a ``StepError``."""


class PeerConnection(RequestConnection[PeerRequest | None]):
    """Answers steps at the same time, and sends each reply as soon as it is there."""

    __slots__ = ("_step", "_tasks", "_writer")

    most_under_way: ClassVar[int] = MAX_IN_FLIGHT

    def __init__(self, secret: str, step: StepOfPeer, port: Connections) -> None:
        """Makes one connection.

        Args:
          secret: What the first frame must show.
          step: Who answers.
          port: What all connections of the port share.
        """
        super().__init__(port, PeerRequestReader(secret))
        self._step = step
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._writer: JoinedWriter | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Notes the transport."""
        super().connection_made(transport)
        self._writer = JoinedWriter(self._port.loop, cast("asyncio.Transport", transport))

    def tasks(self) -> Iterable[asyncio.Task[None]]:
        """Returns the tasks that answer its steps."""
        return list(self._tasks.values())

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

    def _begin(self, request: PeerRequest | None) -> None:
        if request is not None:
            self._tasks[self._taken] = self._port.loop.create_task(self._run(self._taken, request))

    def _refuse(self, error: StepError) -> None:
        """Closes at once: who does not speak this format reads no reply in it."""
        if isinstance(error, UnauthorizedError):
            self._port.tell_once("peers_refused", f"a link to the peer port was refused: {error}")
        self.close()

    async def _run(self, taken: int, request: PeerRequest) -> None:
        answer: StepReply | StepError
        try:
            answer = await self._step(request.step, request.via_gateway)
        except StepError as error:
            answer = error
        except Exception as error:  # noqa: BLE001  # A bug of ours: the log has it, the other replica an answer.
            self._port.failures.tell(error, FAILED)
            answer = AgentError(f"the service failed: {type(error).__name__}")
        finally:
            del self._tasks[taken]
        if self._transport is None:
            self._forget_if_done()
            return
        if self._closing_s is None and self._writer is not None:
            self._writer.write(reply_frame(request.number, answer))
        self._replied()

    def _under_way(self) -> int:
        return len(self._tasks)
