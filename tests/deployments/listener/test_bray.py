import asyncio
import logging
import random
import struct

import pytest

from app.types import StepKind
from deployments.listener.requests import MAX_UNDER_WAY
from tests.deployments.echo_service import EchoService
from tests.deployments.wire_client import WAIT_S, listening
from tests.deployments.wire_frames import bray, bray_reply


async def test_a_game_is_played() -> None:
    service = EchoService()
    async with listening(service) as listener, listener.client() as client:
        for kind, time in (("start", 0), ("tick", 8), ("stop", -(2**63))):
            client.send(bray("game-agent-a", kind, kind.encode(), time=time))
            assert await bray_reply(client) == ("game-agent-a", kind.encode(), time)
    assert [step.kind for step in service.steps] == [StepKind.START, StepKind.TICK, StepKind.STOP]


CAPTURED = {
    "client.cpp, which uses Boost": (
        "0000000000000024000000000000000500000000000000000000000000000000000000000000000000000000000000086332323264616133"
        "2d343936382d343364612d613635652d3231373861653061343466307374617274",
        "000000000000002400000000000000040000000000000000000000000000000000000000000000050000000000000008633232326461"
        "61332d343936382d343364612d613635652d3231373861653061343466307469636b68656c6c6f",
        "c222daa3-4968-43da-a65e-2178ae0a44f0",
        b"",
        b"hello",
        8,
    ),
    "fake_gamecore.cpp, with a key": (
        "000000000000001200000000000000050000000000000008000000000000000a000000000000000a000000000000000073657373696f"
        "6e5f31373935383532393939737461727466616b655f6b657966616b655f746f6b656e73746172742067616d65",
        "000000000000001200000000000000040000000000000008000000000000000a000000000000000f000000000000000073657373696f"
        "6e5f313739353835323939397469636b66616b655f6b657966616b655f746f6b656e66616b652067616d65207374617465",
        "session_1795852999",
        b"start game",
        b"fake game state",
        0,
    ),
}
"""What Bray's C++ programs sent, built without a change: a start, a tick; and what they say in them."""


@pytest.mark.parametrize(("start", "tick", "session", "options", "state", "time"), CAPTURED.values(), ids=CAPTURED)
async def test_what_clients_of_bray_were_seen_to_send_is_answered(
    start: str, tick: str, session: str, options: bytes, state: bytes, time: int
) -> None:
    service = EchoService()
    async with listening(service) as listener, listener.client() as client:
        client.send(bytes.fromhex(start))
        assert await bray_reply(client) == (session, options, time)
        client.send(bytes.fromhex(tick))
        assert await bray_reply(client) == (session, state, time)
    assert [(step.kind, step.body) for step in service.steps] == [(StepKind.START, options), (StepKind.TICK, state)]


async def test_a_reply_is_one_piece_to_a_client_that_reads_once() -> None:
    async with listening(EchoService()) as listener, listener.client() as client:
        client.send(bray("s", "tick", b"b" * 900))
        async with asyncio.timeout(WAIT_S):
            assert await client.reader.readexactly(24 + 1 + 900) == struct.pack("!3q", 1, 900, 0) + b"s" + b"b" * 900


async def test_bytes_may_come_one_by_one_and_requests_in_one_piece() -> None:
    async with listening(EchoService()) as listener, listener.client() as client:
        for byte in bray("a", "tick", b"hello"):
            client.send(bytes([byte]))
            await client.writer.drain()
            await asyncio.sleep(0)
        assert await bray_reply(client) == ("a", b"hello", 0)
        client.send(*(bray(f"s{number}", time=number) for number in range(600)))
        assert [(await bray_reply(client))[2] for _ in range(600)] == list(range(600))


async def test_pipelined_replies_come_in_the_order_of_the_requests() -> None:
    service = EchoService()
    async with listening(service) as listener, listener.client() as client:
        client.send(*(bray(f"wait{number}", time=number) for number in range(100)))
        await service.until(100)
        order = [f"wait{number}" for number in range(100)]
        random.Random(0).shuffle(order)  # noqa: S311  # A test, not a secret.
        for name in order:
            service.doors[name].set()
            await asyncio.sleep(0)
        assert [(await bray_reply(client))[2] for _ in range(100)] == list(range(100))


@pytest.mark.parametrize("session", ["bad", "bug"])
async def test_an_error_closes_the_connection_behind_the_replies_before_it(
    session: str, caplog: pytest.LogCaptureFixture
) -> None:
    service = EchoService()
    caplog.set_level(logging.DEBUG, "deployments.listener")
    async with listening(service) as listener, listener.client() as client:
        client.send(bray("wait"), bray(session), bray("late"), bray("wait-for-ever"))
        await service.until(4)
        service.doors["wait"].set()
        assert (await bray_reply(client))[0] == "wait"
        assert await client.rest() == b""
        assert listener.connections.counts["bray_errors"] == 1
    told = [record for record in caplog.records if record.name.startswith(("deployments.listener.", "app.logs."))]
    assert [record.levelname for record in told] == ["DEBUG" if session == "bad" else "ERROR"]


@pytest.mark.parametrize("size", [-1, 2**31, 2**62])
async def test_an_absurd_size_closes_the_connection(size: int) -> None:
    service = EchoService()
    async with listening(service) as listener, listener.client() as client:
        client.send(bray("a"), struct.pack("!6q", 1, 4, 0, 0, size, 0), b"x" * 100)
        assert (await bray_reply(client))[0] == "a"
        assert await client.rest() == b""
    assert service.names == ["a"]


async def test_an_unknown_kind_closes_the_connection() -> None:
    async with listening(EchoService()) as listener, listener.client() as client:
        client.send(bray("a", "jump"))
        assert await client.rest() == b""


async def test_the_connection_stays_while_the_port_drains_and_ends_with_it() -> None:
    service = EchoService()
    async with listening(service) as listener, listener.client() as client, listener.client() as other:
        client.send(bray("a"))
        await bray_reply(client)
        other.send(b"GET / HTTP/1.1\r\n\r\n")
        await other.reply()
        await asyncio.wait_for(listener.connections.drain(WAIT_S), WAIT_S)
        assert await other.rest() == b""
        for number in range(3):
            client.send(bray("a", time=number))
            assert (await bray_reply(client))[2] == number
        assert await listener.connections.until_left(0) == 1
        await listener.connections.finish(0)
        assert await client.rest() == b""


async def test_a_port_can_wait_for_the_connections_that_stay() -> None:
    async with listening(EchoService()) as listener, listener.client() as client:
        client.send(bray("a"))
        await bray_reply(client)
        await listener.connections.drain(WAIT_S)
        waiting = asyncio.create_task(listener.connections.until_left(WAIT_S))
        await client.close()
        assert await asyncio.wait_for(waiting, WAIT_S) == 0


async def test_too_many_requests_wait_until_replies_have_left() -> None:
    service = EchoService()
    async with listening(service) as listener, listener.client() as client:
        number = 3 * MAX_UNDER_WAY
        client.send(*(bray(f"wait{at}", time=at) for at in range(number)))
        await service.until(MAX_UNDER_WAY)
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(service.names) == MAX_UNDER_WAY
        for at in range(number):
            service.doors[f"wait{at}"].set()
        assert [(await bray_reply(client))[2] for _ in range(number)] == list(range(number))
