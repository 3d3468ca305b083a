import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from app.wire import messages_pb2 as pb
from tests.deployments.echo_service import EchoService
from tests.deployments.wire_client import WAIT_S, Listener, eventually, listening, post
from tests.deployments.wire_frames import UPGRADE, step


@asynccontextmanager
async def websocket(listener: Listener, path: str = "/ws") -> AsyncIterator[ClientConnection]:
    async with connect(f"ws://127.0.0.1:{listener.port}{path}", open_timeout=WAIT_S, proxy=None) as socket:
        yield socket


async def reply(socket: ClientConnection) -> pb.Reply:
    message = await asyncio.wait_for(socket.recv(), WAIT_S)
    assert isinstance(message, bytes)
    return pb.Reply.FromString(message)


async def closed(socket: ClientConnection) -> int | None:
    """Returns the code with which the connection is closed, or None without one."""
    with pytest.raises(ConnectionClosed) as caught:
        await asyncio.wait_for(socket.recv(), WAIT_S)
    return None if caught.value.rcvd is None else caught.value.rcvd.code


async def test_a_message_a_frame_is_answered_by_its_number_as_it_is_ready() -> None:
    service = EchoService()
    async with listening(service) as listener, websocket(listener) as socket:
        for number in range(20):
            await socket.send(step(number, f"wait{number}", b"hello").SerializeToString())
        await service.until(20)
        for number in reversed(range(20)):
            service.doors[f"wait{number}"].set()
            got = await reply(socket)
            assert (got.request_id, got.answer.body) == (number, b"hello")
        assert listener.connections.counts["connections_websocket"] == 1


async def test_a_message_may_come_in_fragments_and_a_ping_is_answered() -> None:
    async with listening(EchoService()) as listener, websocket(listener) as socket:
        whole = step(3, "s", b"hello").SerializeToString()
        await socket.send([whole[:4], whole[4:8], whole[8:]])
        assert (await reply(socket)).request_id == 3
        await asyncio.wait_for(await socket.ping(), WAIT_S)


@pytest.mark.parametrize(("message", "code"), [("text", 1003), (b"\xff\xff", 1007), (bytes(70_000), 1009)])
async def test_what_is_no_message_closes_with_the_reason(message: str | bytes, code: int) -> None:
    async with listening(EchoService()) as listener, websocket(listener) as socket:
        await socket.send(message)
        if code != 1009:
            assert (await reply(socket)).error.code in ("bad_request", "bad_payload")
        assert await closed(socket) == code


async def test_an_error_is_told_and_the_connection_goes_on() -> None:
    async with listening(EchoService()) as listener, websocket(listener) as socket:
        await socket.send(step(1, "bad").SerializeToString())
        assert (await reply(socket)).answer.error.code == "bad_payload"
        await socket.send(pb.Request(step=pb.Step(session="s"), protocol=2, request_id=2).SerializeToString())
        assert (await reply(socket)).error.code == "protocol_version"
        await socket.send(step(3, "good").SerializeToString())
        assert (await reply(socket)).answer.session == "good"


async def test_a_draining_port_answers_what_is_under_way_and_goes_away() -> None:
    service = EchoService()
    async with listening(service) as listener, websocket(listener) as socket, websocket(listener) as idle:
        await socket.send(step(1, "wait").SerializeToString())
        await service.until(1)
        drain = asyncio.create_task(listener.connections.drain(WAIT_S))
        assert await closed(idle) == 1001
        service.doors["wait"].set()
        assert (await reply(socket)).request_id == 1
        assert await closed(socket) == 1001
        await asyncio.wait_for(drain, WAIT_S)
        async with listener.client() as late:
            late.send(b"GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            assert (await late.reply()).status == 503


async def test_a_goodbye_is_answered() -> None:
    async with listening(EchoService()) as listener:
        async with websocket(listener) as socket:
            await socket.close()
            assert socket.close_code == 1000
        await eventually(lambda: not listener.connections.open)


async def test_a_silent_peer_is_pinged_and_stays_while_it_answers() -> None:
    async with listening(EchoService(), idle_timeout_s=1e6) as listener, websocket(listener) as socket:
        (connection,), now_s = listener.connections.open, listener.connections.loop.time()
        assert listener.connections._timer is not None
        listener.connections._timer.cancel()  # What looks at it is the test alone.

        def silent(seconds: float) -> None:
            nonlocal now_s
            now_s += seconds
            connection.sweep(now_s)

        silent(0)  # It has heard the handshake.
        for _ in range(3):
            heard = connection._fed
            silent(0.5e6)
            await eventually(lambda before=heard: connection._fed > before)  # type: ignore[misc]  # The ping is answered.
            silent(0.6e6)
        await socket.send(step(1, "s").SerializeToString())
        assert (await reply(socket)).request_id == 1
        silent(0)
        socket.transport.pause_reading()  # It answers no ping any more.
        silent(0.5e6)
        silent(0.6e6)
        await eventually(lambda: not listener.connections.open)
        assert listener.connections.counts["connections_idle"] == 1
        socket.transport.abort()  # It would wait for a goodbye that it does not read.


async def test_other_paths_and_bad_handshakes_are_refused() -> None:
    async with listening(EchoService()) as listener:
        with pytest.raises(InvalidStatus) as caught:
            async with websocket(listener, "/other"):
                pass
        assert caught.value.response.status_code == 400
        async with listener.client() as client:
            client.send(b"GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            reply = await client.reply()
            assert (reply.status, reply.headers["connection"]) == (400, "close")
            assert await client.rest() == b""
        async with listener.client() as client:
            client.send(UPGRADE.replace(b"dGhl", "dGh\u07dc".encode()))
            reply = await client.reply()
            assert (reply.status, reply.headers["connection"]) == (400, "close")
            assert await client.rest() == b""


async def test_a_page_of_another_origin_is_refused_and_counted() -> None:
    async with listening(EchoService(), origins=("https://play.example",)) as listener:
        for origin, status in (("https://evil.example", 401), ("https://play.example", 101)):
            async with listener.client() as client:
                client.send(UPGRADE.replace(b"\r\n\r\n", f"\r\nOrigin: {origin}\r\n\r\n".encode()))
                head = await asyncio.wait_for(client.reader.readuntil(b"\r\n\r\n"), WAIT_S)
                assert head.startswith(f"HTTP/1.1 {status} ".encode())
        counts = listener.connections.counts
        assert (counts["origins_refused"], counts["connections_websocket"]) == (1, 1)


async def test_an_upgrade_behind_requests_under_way_is_refused_in_its_turn() -> None:
    service = EchoService()
    async with listening(service) as listener, listener.client() as client:
        client.send(post("/wait"), b"GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        await service.until(1)
        service.doors["/wait"].set()
        assert [(await client.reply()).status for _ in range(2)] == [200, 400]
        assert await client.rest() == b""
