"""Connections that carry messages of the native protocol, whatever frames them."""

import asyncio
from abc import abstractmethod
from collections.abc import Iterable

from app.errors import AgentError, StepError
from app.logs.failures import Failures
from app.wire.messages import (
    NativeRequest,
    RefusedRequestError,
    batch_message,
    error_message,
    read_request,
    reply_message,
)
from deployments.listener.port import Connections, StepService
from deployments.listener.requests import Reader, RequestConnection


class MessageConnection(RequestConnection[bytes]):
    """Answers requests at the same time, and sends each reply as soon as it is there."""

    __slots__ = ("_number", "_tasks")

    def __init__(self, port: Connections, reader: Reader[bytes]) -> None:
        super().__init__(port, reader)
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._number = 0

    def tasks(self) -> Iterable[asyncio.Task[None]]:
        """Returns the tasks that answer its requests."""
        return list(self._tasks.values())

    def drain(self) -> None:
        """Takes no more requests, and ends the connection once those under way are answered."""
        self._last_taken = True
        self._waiting.clear()
        if not self._tasks:
            self._end()

    @abstractmethod
    def _send(self, message: bytes) -> None:
        """Sends a message, unless the peer is gone."""

    def _begin(self, request: bytes) -> None:
        try:
            parsed = read_request(request)
        except RefusedRequestError as refused:
            self._send(error_message(refused.request_id, refused.error))
        except StepError as error:
            self._waiting.clear()
            self._take_last(error)
        else:
            self._number += 1
            self._tasks[self._number] = self._port.loop.create_task(self._run(self._number, parsed))

    def _refuse(self, error: StepError) -> None:
        self._send(error_message(0, error))

    async def _run(self, number: int, request: NativeRequest) -> None:
        try:
            self._send(await answer_message(self._port.service, request, self._port.failures))
        finally:
            del self._tasks[number]
            if self._transport is None:
                self._forget_if_done()
            else:
                self._replied()

    def _under_way(self) -> int:
        return len(self._tasks)


async def answer_message(service: StepService, request: NativeRequest, failures: Failures) -> bytes:
    """Returns the message that answers a request, whatever becomes of it."""
    content = request.content
    try:
        if isinstance(content, list):
            return batch_message(request.request_id, content, await service.batch(content))
        return reply_message(request.request_id, await service.step(content))
    except StepError as error:
        return reply_message(request.request_id, error)
    except Exception as error:  # noqa: BLE001  # A bug of ours: the log has it, the game core an answer.
        failures.tell(error, f"a request failed: {request.request_id}")
        return error_message(request.request_id, AgentError(f"the service failed: {type(error).__name__}"))
