import asyncio
from collections.abc import Awaitable

import pytest

from app.errors import BadRequestError
from app.wire.http import HttpReply, HttpRequest
from deployments.listener.connection import PROGRESS_BYTES
from tests.deployments.echo_service import EchoService
from tests.deployments.wire_client import Client, ends, eventually, listening, post
from tests.deployments.wire_frames import bray, bray_reply, native, native_reply, step


async def test_connections_beyond_the_limit_are_closed_and_counted() -> None:
    async with (
        listening(EchoService(), max_connections=2) as listener,
        listener.client() as first,
        listener.client() as second,
    ):
        for client in (first, second):
            client.send(post("/a"))
            await client.reply()
        for _ in range(3):
            async with listener.client() as refused:
                refused.send(post("/refused"))
                assert await ends(refused)
        assert listener.connections.counts["connections_refused"] == 3
        first.send(post("/b"))
        assert (await first.reply()).status == 200
        await second.close()
        await eventually(lambda: len(listener.connections.open) < 2)
        async with listener.client() as third:
            third.send(post("/c"))
            assert (await third.reply()).status == 200


SLOW = {
    "an HTTP head": b"POST /step HTTP/1.1\r\nX-Slow: ",
    "an HTTP body": b"POST /step HTTP/1.1\r\nContent-Length: 1000\r\n\r\n",
    "a frame of Bray's": bray("s", "tick", b"xxxx")[:-1],
    "a native frame": native(step(1, "s", b"xxxx"))[:-1],
}


@pytest.mark.parametrize("begin", SLOW.values(), ids=SLOW)
async def test_a_request_that_trickles_is_cut_though_bytes_keep_coming(begin: bytes) -> None:
    async with (
        listening(EchoService(), header_timeout_s=0.1) as listener,
        listener.client() as slow,
        listener.client() as good,
    ):
        slow.send(begin)
        trickle = asyncio.create_task(send_slowly(slow, b"x" if b"HTTP" in begin else b""))
        good.send(post("/good"))
        assert (await good.reply()).status == 200
        await eventually(lambda: listener.connections.counts["connections_slow"] > 0)
        assert await ends(slow)
        trickle.cancel()
        good.send(post("/good"))
        assert (await good.reply()).status == 200


async def send_slowly(client: Client, byte: bytes) -> None:
    while True:
        client.send(byte)
        await asyncio.sleep(0.01)


async def test_a_large_body_that_gets_on_is_not_cut_however_long_it_takes() -> None:
    async with (
        listening(EchoService(), max_body_bytes=2**22, header_timeout_s=100, idle_timeout_s=1e6) as listener,
        listener.client() as client,
    ):
        pieces, now_s = 5, listener.connections.loop.time()
        client.send(b"POST /large HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (pieces * PROGRESS_BYTES + 1))
        for _ in range(pieces):
            (before,) = listener.connections.open
            client.send(b"x" * PROGRESS_BYTES)
            fed = before._fed + PROGRESS_BYTES
            await eventually(lambda wanted=fed: next(iter(listener.connections.open))._fed >= wanted)  # type: ignore[misc]
            now_s += 101
            before.sweep(now_s)
        assert listener.connections.counts["connections_slow"] == 0
        now_s += 101
        next(iter(listener.connections.open)).sweep(now_s)  # Nothing has come since.
        assert listener.connections.counts["connections_slow"] == 1


LARGE_BYTES = 2**20
HALF = {
    "an HTTP body": b"POST /step HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % LARGE_BYTES + bytes(LARGE_BYTES // 2),
    "a frame of Bray's": bray("s", "tick", bytes(LARGE_BYTES))[: LARGE_BYTES // 2],
    "a native frame": native(step(1, "s", bytes(LARGE_BYTES)))[: LARGE_BYTES // 2],
}


@pytest.mark.parametrize("half", HALF.values(), ids=HALF)
async def test_bodies_that_are_not_whole_are_bounded_over_all_connections(half: bytes) -> None:
    async with (
        listening(EchoService(), max_body_bytes=2 * LARGE_BYTES, max_partial_mb=1.25) as listener,
        listener.client() as first,
        listener.client() as second,
        listener.client() as third,
    ):
        partial, counts = listener.connections.partial, listener.connections.counts
        first.send(half)
        second.send(half)
        await eventually(lambda: partial.held_bytes >= LARGE_BYTES - 200)
        third.send(half)
        if half == HALF["an HTTP body"]:
            reply = await third.reply()
            assert (reply.status, reply.headers["connection"]) == (429, "close")
        elif half == HALF["a native frame"]:
            assert (await native_reply(third)).error.code == "overloaded"
        assert await ends(third)
        assert counts["partial_refused"] == 1
        assert partial.held_bytes <= LARGE_BYTES
        for client in (first, second):
            await client.close()
        await eventually(lambda: partial.held_bytes == 0)


async def test_a_body_that_is_whole_is_not_counted_any_more() -> None:
    async with listening(EchoService(), max_body_bytes=2 * LARGE_BYTES, max_partial_mb=1.5) as listener:
        async with listener.client() as client:
            for _ in range(3):
                client.send(post("/a", b"x" * LARGE_BYTES))
                assert (await client.reply()).status == 200
                assert listener.connections.partial.held_bytes == 0
        assert listener.connections.counts["partial_refused"] == 0


async def test_a_silent_connection_is_closed_and_a_busy_one_is_not() -> None:
    service = EchoService()
    async with (
        listening(service, idle_timeout_s=1e6) as listener,
        listener.client() as never,
        listener.client() as http,
        listener.client() as framed,
        listener.client() as busy,
    ):
        http.send(post("/a"))
        await http.reply()
        framed.send(bray("a"))
        await bray_reply(framed)
        busy.send(native(step(1, "wait")))
        await service.until(3)
        await eventually(lambda: len(listener.connections.open) == 4)
        now_s = listener.connections.loop.time()
        for later_s in (0, 2e6):  # The first look notes what has come.
            for connection in list(listener.connections.open):
                connection.sweep(now_s + later_s)
        for client in (never, http, framed):
            assert await ends(client)
        assert listener.connections.counts["connections_idle"] == 3
        service.doors["wait"].set()
        assert (await native_reply(busy)).request_id == 1


async def test_a_peer_that_reads_none_of_its_replies_is_closed() -> None:
    service = EchoService()
    service.body = bytes(1_000_000)
    async with listening(service, idle_timeout_s=1e6) as listener, listener.client() as client:
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        client.send(*(bray(f"s{number}") for number in range(50)))
        await eventually(lambda: any(one._blocked_s is not None for one in listener.connections.open))
        next(iter(listener.connections.open)).sweep(listener.connections.loop.time() + 2e6)
        assert listener.connections.counts["connections_stalled"] == 1
        await eventually(lambda: not listener.connections.open)


async def test_the_timer_stops_with_the_last_connection() -> None:
    async with listening(EchoService(), header_timeout_s=0.01) as listener:
        async with listener.client() as client:
            client.send(post("/a"))
            await client.reply()
            assert listener.connections._timer is not None
        await eventually(lambda: listener.connections._timer is None)


async def test_a_port_that_serves_http_alone_says_so_to_others() -> None:
    def answer(request: HttpRequest) -> Awaitable[HttpReply]:
        raise BadRequestError(f"no {request.path}")

    async with listening(answer) as listener, listener.client() as client, listener.client() as other:
        client.send(native(step(1, "s")), native(step(2, "t")))
        assert "this port serves HTTP only" in (await native_reply(client)).answer.error.message
        other.send(bray("s"))
        assert await ends(other)
