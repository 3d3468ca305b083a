import asyncio
import socket
import struct

import pytest

from app.wire import messages_pb2 as pb
from deployments.listener.requests import MAX_UNDER_WAY
from tests.deployments.echo_service import EchoService
from tests.deployments.wire_client import WAIT_S, eventually, listening
from tests.deployments.wire_frames import native, native_reply, step


async def test_a_step_is_answered_by_its_number() -> None:
    async with listening(EchoService()) as listener, listener.client() as client:
        client.send(native(step(2**64 - 1, "s", b"hello")))
        reply = await native_reply(client)
        assert (reply.request_id, reply.protocol, reply.answer.body) == (2**64 - 1, 1, b"hello")
        assert (reply.answer.session, reply.answer.policy_version) == ("s", "1.1")


async def test_replies_leave_as_they_are_ready() -> None:
    service = EchoService()
    async with listening(service) as listener, listener.client() as client:
        client.send(*(native(step(number, f"wait{number}")) for number in range(50)))
        await service.until(50)
        for number in reversed(range(50)):
            service.doors[f"wait{number}"].set()
            assert (await native_reply(client)).request_id == number


async def test_a_batch_is_answered_in_its_order() -> None:
    service = EchoService()
    async with listening(service) as listener, listener.client() as client:
        batch = pb.Batch(steps=[pb.Step(session=name, body=name.encode()) for name in ("a", "bad", "c")])
        client.send(native(pb.Request(batch=batch, request_id=4)))
        reply = await native_reply(client)
        assert [(answer.session, answer.body, answer.error.code) for answer in reply.batch.answers] == [
            ("a", b"a", ""),
            ("bad", b"", "bad_payload"),
            ("c", b"c", ""),
        ]


async def test_errors_are_told_by_number_and_the_connection_goes_on() -> None:
    async with listening(EchoService()) as listener, listener.client() as client:
        client.send(
            native(step(1, "bad")),
            native(step(2, "bug")),
            native(step(3, "full")),
            native(pb.Request(request_id=4)),
            native(pb.Request(step=pb.Step(session="s"), request_id=5, protocol=9)),
            native(step(6, "good")),
        )
        replies = {reply.request_id: reply for reply in [await native_reply(client) for _ in range(6)]}
    assert replies[1].answer.error.code == "bad_payload"
    assert (replies[2].error.code, replies[2].error.message) == (
        "agent_error",
        "the service failed: ZeroDivisionError",
    )
    assert (replies[3].answer.error.code, replies[3].answer.error.retry_after_s) == ("overloaded", 1)
    assert replies[4].error.code == "bad_request"
    assert replies[5].error.code == "protocol_version"
    assert replies[5].error.message == "the client speaks protocol 9, the service 1"
    assert replies[6].answer.session == "good"


@pytest.mark.parametrize(
    ("garbage", "code"),
    [
        (struct.pack(">I", 2**31), "body_too_large"),
        (struct.pack(">I", 0), "bad_request"),
        (struct.pack(">I", 3) + b"\xff\xff\xff", "bad_payload"),
    ],
)
async def test_what_is_no_message_is_told_and_ends_the_connection_once_all_is_answered(
    garbage: bytes, code: str
) -> None:
    service = EchoService()
    async with listening(service) as listener, listener.client() as client:
        client.send(native(step(1, "wait")), garbage, native(step(2, "late")))
        refusal = await native_reply(client)
        assert (refusal.request_id, refusal.error.code) == (0, code)
        service.doors["wait"].set()
        assert (await native_reply(client)).request_id == 1
        assert await client.rest() == b""
    assert service.names == ["wait"]


async def test_bytes_may_come_one_by_one() -> None:
    async with listening(EchoService()) as listener, listener.client() as client:
        for byte in native(step(1, "s", b"hello")):
            client.send(bytes([byte]))
            await client.writer.drain()
            await asyncio.sleep(0)
        assert (await native_reply(client)).answer.body == b"hello"


async def test_too_many_requests_wait_until_replies_have_left() -> None:
    service = EchoService()
    async with listening(service) as listener, listener.client() as client:
        number = 3 * MAX_UNDER_WAY
        client.send(*(native(step(at, f"wait{at}")) for at in range(number)))
        await service.until(MAX_UNDER_WAY)
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(service.names) == MAX_UNDER_WAY
        for at in range(number):
            service.doors[f"wait{at}"].set()
        assert {(await native_reply(client)).request_id for _ in range(number)} == set(range(number))


async def test_a_draining_port_answers_what_is_under_way_and_then_closes() -> None:
    service = EchoService()
    async with listening(service) as listener, listener.client() as client, listener.client() as idle:
        client.send(native(step(1, "wait")))
        idle.send(native(step(1, "s")))
        await native_reply(idle)
        await service.until(2)
        drain = asyncio.create_task(listener.connections.drain(WAIT_S))
        assert await idle.rest() == b""
        client.send(native(step(2, "late")))
        await asyncio.sleep(0)
        service.doors["wait"].set()
        assert (await native_reply(client)).request_id == 1
        assert await client.rest() == b""
        await asyncio.wait_for(drain, WAIT_S)
    assert "late" not in service.names


async def test_a_step_runs_to_its_end_though_its_connection_is_gone() -> None:
    service = EchoService()
    async with listening(service) as listener:
        client = await listener.connect()
        client.send(native(step(1, "wait")))
        await service.until(1)
        reset_on_close = struct.pack("ii", 1, 0)
        client.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset_on_close)
        client.writer.transport.abort()
        await eventually(lambda: next(iter(listener.connections.open))._transport is None)
        service.doors["wait"].set()
        await eventually(lambda: not listener.connections.open)
