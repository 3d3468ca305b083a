import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest

from app.config.serving import ActorConfig, SessionLimits
from app.errors import PortInUseError
from app.wire import messages_pb2 as pb
from deployments.grpc_port import SERVICE, open_grpc_port
from deployments.port import free_port
from tests.deployments.echo_service import EchoService
from tests.deployments.wire_client import WAIT_S
from tests.deployments.wire_frames import step

HOST = "127.0.0.1"


def actor(port: int | None) -> ActorConfig:
    return ActorConfig(agents=("main",), host=HOST, grpc_port=port, limits=SessionLimits(max_body_mb=0.1))


@asynccontextmanager
async def serving(service: EchoService) -> AsyncIterator[grpc.aio.Channel]:
    port = await open_grpc_port(actor(free_port(HOST)), service, "one")
    assert port is not None
    async with grpc.aio.insecure_channel(f"{HOST}:{port.port}") as channel:
        yield channel
    await port.close(0)


def do(channel: grpc.aio.Channel) -> Callable[..., Any]:
    """Returns the unary call, as a generated stub makes it."""
    call: Callable[..., Any] = channel.unary_unary(f"/{SERVICE}/Do", pb.Request.SerializeToString, pb.Reply.FromString)
    return call


def play(channel: grpc.aio.Channel) -> Any:
    """Returns an open stream, as a generated stub opens it."""
    return channel.stream_stream(f"/{SERVICE}/Play", pb.Request.SerializeToString, pb.Reply.FromString)(timeout=WAIT_S)


async def test_a_call_is_answered() -> None:
    async with serving(EchoService()) as channel:
        reply = await do(channel)(step(7, "s", b"hello"), timeout=WAIT_S)
        assert (reply.request_id, reply.protocol, reply.answer.body) == (7, 1, b"hello")


async def test_errors_are_replies_and_name_both_protocols() -> None:
    async with serving(EchoService()) as channel:
        assert (await do(channel)(step(1, "bad"), timeout=WAIT_S)).answer.error.code == "bad_payload"
        reply = await do(channel)(pb.Request(step=pb.Step(session="s"), protocol=2, request_id=3), timeout=WAIT_S)
        assert (reply.request_id, reply.error.code) == (3, "protocol_version")
        assert reply.error.message == "the client speaks protocol 2, the service 1"
        raw = channel.unary_unary(f"/{SERVICE}/Do")
        assert pb.Reply.FromString(await raw(b"\xff\xff", timeout=WAIT_S)).error.code == "bad_payload"


async def test_a_message_over_the_limit_is_refused() -> None:
    async with serving(EchoService()) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await do(channel)(step(1, "s", bytes(200_000)), timeout=WAIT_S)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_stream_answers_each_request_as_it_is_ready() -> None:
    service = EchoService()
    async with serving(service) as channel:
        stream = play(channel)
        for number in range(20):
            await stream.write(step(number, f"wait{number}", b"hello"))
        await service.until(20)
        for number in reversed(range(20)):
            service.doors[f"wait{number}"].set()
            reply = await stream.read()
            assert (reply.request_id, reply.answer.body) == (number, b"hello")
        await stream.done_writing()
        assert await stream.read() is grpc.aio.EOF


async def test_a_stream_carries_more_requests_than_may_be_under_way() -> None:
    async with serving(EchoService()) as channel:
        stream = play(channel)

        async def send() -> None:
            for number in range(1000):
                await stream.write(step(number, "s"))
            await stream.done_writing()

        sending = asyncio.create_task(send())
        numbers = [reply.request_id async for reply in stream]
        await sending
        assert sorted(numbers) == list(range(1000))


async def test_a_stream_that_its_client_leaves_ends() -> None:
    service = EchoService()
    async with serving(service) as channel:
        stream = play(channel)
        await stream.write(step(1, "wait"))
        await service.until(1)
        stream.cancel()
        assert (await do(channel)(step(2, "s"), timeout=WAIT_S)).request_id == 2


async def test_replicas_share_the_port_and_others_are_kept_out() -> None:
    config = actor(free_port(HOST))
    first = await open_grpc_port(config, EchoService(), "one")
    second = await open_grpc_port(config, EchoService(), "one")
    assert first is not None
    assert second is not None
    with pytest.raises(PortInUseError, match="is held by one"):
        await open_grpc_port(config, EchoService(), "two")
    await first.close(0)
    await second.close(0)


async def test_without_a_port_there_is_none() -> None:
    assert await open_grpc_port(actor(None), EchoService(), "one") is None


def test_who_wants_no_grpc_does_not_import_it() -> None:
    code = "import sys, deployments.grpc_port; sys.exit('grpc' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
