"""Connections of other replicas, which forward steps."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from app.errors import AgentError, StepError
from app.wire.steps import StepReply, StepRequest
from deployments.listener.linked import LinkedConnection
from deployments.listener.port import Connections
from deployments.peer_wire import PeerRequest, PeerRequestReader, reply_frame

FAILED: Final = "a step of another replica failed"

StepOfPeer = Callable[[StepRequest, bool], Awaitable[StepReply]]
"""Answers a step that another replica forwards, and whether that is a gateway, or raises a ``StepError``."""


class PeerConnection(LinkedConnection[PeerRequest | None]):
    """Answers steps at the same time, and sends each reply as soon as it is there."""

    __slots__ = ("_step", "_tasks")

    what = "a link to the peer port"

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

    def tasks(self) -> Iterable[asyncio.Task[None]]:
        """Returns the tasks that answer its steps."""
        return list(self._tasks.values())

    def _begin(self, request: PeerRequest | None) -> None:
        if request is not None:
            self._tasks[self._taken] = self._port.loop.create_task(self._run(self._taken, request))

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
