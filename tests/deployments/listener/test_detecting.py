import asyncio
import logging

import pytest

from tests.deployments.echo_service import EchoService
from tests.deployments.wire_client import ends, eventually, listening, post
from tests.deployments.wire_frames import bray, bray_reply, native, native_reply, step


async def test_one_port_speaks_three_protocols() -> None:
    async with (
        listening(EchoService()) as listener,
        listener.client() as first,
        listener.client() as second,
        listener.client() as third,
    ):
        first.send(post("/a", b"1"))
        second.send(bray("b", body=b"2"))
        third.send(native(step(7, "c", b"3")))
        assert (await first.reply()).json == {"path": "/a", "body": "1"}
        assert await bray_reply(second) == ("b", b"2", 0)
        assert (await native_reply(third)).answer.body == b"3"
        counts = listener.connections.counts
        assert (counts["connections_http"], counts["connections_bray"], counts["connections_native"]) == (1, 1, 1)


@pytest.mark.parametrize("data", [post("/a"), bray("a"), native(step(1, "a"))])
async def test_the_first_bytes_may_come_one_by_one(data: bytes) -> None:
    service = EchoService()
    async with listening(service) as listener, listener.client() as client:
        for byte in data:
            client.send(bytes([byte]))
            await client.writer.drain()
            await asyncio.sleep(0)
        await service.until(1)


async def test_http2_is_told_that_it_is_not_served() -> None:
    async with listening(EchoService()) as listener, listener.client() as client:
        client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        reply = await client.reply()
        assert (reply.status, reply.headers["connection"]) == (505, "close")
        assert await client.rest() == b""


async def test_tls_is_closed_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with listening(EchoService()) as listener:
        for _ in range(3):
            async with listener.client() as client:
                client.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
                assert await ends(client)
        assert listener.connections.counts["tls_on_plain_port"] == 3
    assert caplog.text.count("TLS on a plain port") == 1


@pytest.mark.parametrize("garbage", [b"get / HTTP/1.1\r\n\r\n", b"\xff" * 100, b"\r\n\r\n"])
async def test_anything_else_is_closed(garbage: bytes) -> None:
    async with listening(EchoService()) as listener, listener.client() as client:
        client.send(garbage)
        assert await ends(client)
        assert listener.connections.counts["connections_unknown"] == 1


async def test_first_bytes_that_stop_are_waited_for_a_short_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deployments.listener.detecting.DETECT_TIMEOUT_S", 0.05)
    async with (
        listening(EchoService(), header_timeout_s=0.2) as listener,
        listener.client() as slow,
        listener.client() as silent,
    ):
        slow.send(b"GE")
        assert await ends(slow)
        assert listener.connections.counts["connections_slow"] == 1
        silent.send(post("/still-here"))  # Clients may connect long before their game begins.
        assert (await silent.reply()).status == 200


async def test_a_peer_that_leaves_before_it_said_what_it_speaks_is_forgotten() -> None:
    async with listening(EchoService()) as listener, listener.client() as client:
        client.send(b"GE")
        client.writer.write_eof()
        assert await client.rest() == b""
        await eventually(lambda: not listener.connections.open)
