"""The gRPC port: the native protocol's messages for clients that would rather have stubs. Off by default."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from app.config.serving import ActorConfig
from app.errors import PortInUseError, StepError
from app.logs.failures import Failures
from app.wire import messages_pb2 as pb
from app.wire.frames import MAX_ENVELOPE_BYTES
from app.wire.messages import RefusedRequestError, error_message, read_request
from deployments.listener.messages import answer_message
from deployments.listener.port import StepService
from deployments.listener.requests import MAX_UNDER_WAY
from deployments.port import PortGuard

if TYPE_CHECKING:
    import grpc
    import grpc.aio

SERVICE: Final = pb.DESCRIPTOR.services_by_name["Sparring"].full_name

Write = Callable[[bytes], Awaitable[None]]


class GrpcPort:
    """A server that speaks gRPC; the kernel spreads its connections over all replicas."""

    def __init__(self, server: "grpc.aio.Server", guard: PortGuard) -> None:
        self._server = server
        self._guard = guard
        self.port = guard.port

    async def close(self, timeout_s: float) -> None:
        """Refuses new calls, answers those under way for at most ``timeout_s``, and ends the others."""
        await self._server.stop(timeout_s)
        self._guard.close()


async def open_grpc_port(config: ActorConfig, service: StepService, owner: str) -> GrpcPort | None:
    """Returns the port that the config asks for; None where it asks for none.

    Args:
      config: The actor.
      service: Who answers.
      owner: Name of the service, the same in all replicas.

    Raises:
      PortInUseError: Somebody else listens there.
    """
    if config.grpc_port is None:
        return None
    import grpc  # noqa: PLC0415  # Only who wants gRPC pays for its import.
    import grpc.aio  # noqa: PLC0415

    guard = PortGuard(config.host, config.grpc_port, owner)
    largest = int(config.limits.max_body_mb * 2**20) + MAX_ENVELOPE_BYTES
    server = grpc.aio.server(
        options=[
            ("grpc.so_reuseport", 1),
            ("grpc.max_receive_message_length", largest),
            ("grpc.max_send_message_length", -1),
            ("grpc.max_concurrent_streams", MAX_UNDER_WAY),
        ]
    )
    server.add_generic_rpc_handlers((_handlers(service),))
    try:
        server.add_insecure_port(f"{config.host}:{guard.port}")
        await server.start()
    except RuntimeError as error:
        guard.close()
        raise PortInUseError(f"port {guard.port} on {config.host} cannot be used for gRPC: {error}") from error
    return GrpcPort(server, guard)


def _handlers(service: StepService) -> "grpc.GenericRpcHandler":
    """Returns the methods; they take and give bytes, so that what cannot be read gets a reply that says why."""
    import grpc  # noqa: PLC0415  # As above.

    failures = Failures(Counter())

    async def answer(request: bytes) -> bytes:
        return await _answer(service, request, failures)

    async def do(request: bytes, _context: Any) -> bytes:
        return await answer(request)

    async def play(_requests: Any, context: Any) -> None:
        await _play(answer, context.read, context.write, grpc.aio.EOF)

    methods = {
        "Do": grpc.unary_unary_rpc_method_handler(do),
        "Play": grpc.stream_stream_rpc_method_handler(play),
    }
    return grpc.method_handlers_generic_handler(SERVICE, methods)


async def _answer(service: StepService, payload: bytes, failures: Failures) -> bytes:
    try:
        request = read_request(payload)
    except RefusedRequestError as refused:
        return error_message(refused.request_id, refused.error)
    except StepError as error:
        return error_message(0, error)
    return await answer_message(service, request, failures)


async def _play(
    answered: Callable[[bytes], Awaitable[bytes]], read: Callable[[], Awaitable[Any]], write: Write, end: object
) -> None:
    """Answers the requests of a stream at the same time, and sends each reply as soon as it is there."""
    writing = asyncio.Lock()  # A stream takes one message at a time.
    room = asyncio.Semaphore(MAX_UNDER_WAY)

    async def answer(payload: bytes) -> None:
        try:
            reply = await answered(payload)
            async with writing:
                await write(reply)
        finally:
            room.release()

    async with asyncio.TaskGroup() as group:
        while True:
            await room.acquire()  # Where too many are under way, the stream is read no further.
            payload = await read()
            if payload is end:
                return
            group.create_task(answer(payload))
