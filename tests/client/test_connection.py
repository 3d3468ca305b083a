import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from app.client.connection import HttpConnection, TooManyInFlightError
from app.client.kept import ConnectionLostError
from app.client.reply import MAX_BODY_BYTES, MAX_HEADER_BYTES, BadReplyError, Reply, ReplyReader

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"


class Peer:
    """The other end, whose bytes are the test's."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def request(self) -> tuple[bytes, bytes]:
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        return head, await self.reader.readexactly(length)

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    def end(self) -> None:
        self.writer.close()


@asynccontextmanager
async def connected(max_in_flight: int = 8) -> AsyncIterator[tuple[HttpConnection, Peer]]:
    arrived: asyncio.Queue[Peer] = asyncio.Queue(1)
    server = await asyncio.start_server(lambda r, w: arrived.put_nowait(Peer(r, w)), "127.0.0.1", 0)
    async with asyncio.timeout(30):
        port = server.sockets[0].getsockname()[1]
        connection = await HttpConnection.open("127.0.0.1", port, timeout_s=5, max_in_flight=max_in_flight)
        peer = await arrived.get()
        yield connection, peer
        await connection.close()
        peer.end()
        server.close()


def post(connection: HttpConnection, body: bytes, timeout_s: float = 5) -> asyncio.Task[Reply]:
    return asyncio.create_task(connection.request("POST", "/step", {"session": "s"}, body, timeout_s))


async def failure_of(task: asyncio.Task[Reply]) -> ConnectionLostError:
    with pytest.raises(ConnectionLostError) as caught:
        await task
    return caught.value


async def test_a_request_carries_its_method_path_headers_and_body() -> None:
    async with connected() as (connection, peer):
        task = post(connection, b"{}")
        head, body = await peer.request()
        peer.send(b"HTTP/1.1 404 Not Found\r\nX-Two: 2\r\nContent-Length: 3\r\n\r\nabc")
        assert await task == Reply(404, {"x-two": "2", "content-length": "3"}, b"abc")
        port = head.partition(b"127.0.0.1:")[2].split(b"\r\n")[0].decode()
        expected = f"POST /step HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nsession: s\r\nContent-Length: 2\r\n\r\n"
        assert (head.decode(), body) == (expected, b"{}")


async def test_pipelined_requests_get_their_replies_in_order_even_in_pieces() -> None:
    async with connected() as (connection, peer):
        tasks = [post(connection, body) for body in (b"1", b"2", b"3")]
        assert [(await peer.request())[1] for _ in tasks] == [b"1", b"2", b"3"]
        assert connection.in_flight == 3
        for byte in OK + b"aa" + OK + b"bb" + OK + b"cc":
            peer.send(bytes([byte]))
        assert [reply.body for reply in await asyncio.gather(*tasks)] == [b"aa", b"bb", b"cc"]
        assert connection.in_flight == 0


async def test_an_interim_reply_is_passed_over() -> None:
    async with connected() as (connection, peer):
        task = post(connection, b"")
        peer.send(b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"ok")
        assert (await task).body == b"ok"


async def test_one_more_request_than_allowed_is_refused_and_not_sent() -> None:
    async with connected(max_in_flight=2) as (connection, peer):
        tasks = [post(connection, b"1"), post(connection, b"2")]
        await peer.request()
        with pytest.raises(TooManyInFlightError, match=r"2 requests wait on the connection to .*, at most 2"):
            await connection.request("POST", "/step", {}, b"", 1)
        peer.send(OK + b"aa" + OK + b"bb")
        assert [reply.body for reply in await asyncio.gather(*tasks)] == [b"aa", b"bb"]


async def test_a_reset_fails_all_waiters_and_tells_whose_reply_had_begun() -> None:
    async with connected() as (connection, peer):
        tasks = [post(connection, b"1"), post(connection, b"2"), post(connection, b"3")]
        for _ in tasks:
            await peer.request()
        peer.send(OK + b"ok" + OK[:20])
        assert (await tasks[0]).body == b"ok"
        peer.end()
        failures = [await failure_of(task) for task in tasks[1:]]
        assert [(failure.sent, failure.reply_started) for failure in failures] == [(True, True), (True, False)]
        assert not connection.usable
        late = await failure_of(post(connection, b"4"))
        assert (late.sent, late.reply_started) == (False, False)


async def test_connection_close_is_honoured_after_its_reply() -> None:
    async with connected() as (connection, peer):
        tasks = [post(connection, b"1"), post(connection, b"2")]
        await peer.request()
        peer.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
        assert (await tasks[0]).body == b"ok"
        failure = await failure_of(tasks[1])
        assert "Connection: close" in str(failure)
        assert (failure.sent, failure.reply_started) == (True, False)
        assert not connection.usable


async def test_a_late_reply_ends_the_connection() -> None:
    async with connected() as (connection, _peer):
        failure = await failure_of(post(connection, b"", timeout_s=0.02))
        assert "no reply to POST /step within 0.02 s" in str(failure)
        assert not connection.usable


async def test_the_reply_to_a_cancelled_caller_is_dropped() -> None:
    async with connected() as (connection, peer):
        given_up, task = post(connection, b"1"), post(connection, b"2")
        await peer.request()
        given_up.cancel()
        await asyncio.wait([given_up])
        peer.send(OK + b"aa" + OK + b"bb")
        assert (await task).body == b"bb"
        assert connection.usable


@pytest.mark.parametrize("data", [b"\x00\x00\x00\x05hello", OK + b"ok" + OK + b"no"])
async def test_what_is_not_the_reply_to_a_request_ends_the_connection(data: bytes) -> None:
    async with connected() as (connection, peer):
        task = post(connection, b"")
        await peer.request()
        peer.send(data)
        await asyncio.wait([task])
        assert await peer.reader.read() == b""
        assert not connection.usable


async def test_nobody_listening_is_a_lost_connection_that_sent_nothing(unused_port: int) -> None:
    with pytest.raises(ConnectionLostError, match=f"no connection to 127.0.0.1:{unused_port}: ") as caught:
        await HttpConnection.open("127.0.0.1", unused_port, timeout_s=5)
    assert not caught.value.sent


async def test_a_header_cannot_smuggle_in_another_and_its_error_tells_no_other() -> None:
    async with connected() as (connection, _peer):
        with pytest.raises(ValueError, match="a line break in") as caught:
            await connection.request("POST", "/step", {"session": "s\r\ntoken: t", "secret": "swordfish"}, b"", 1)
        assert "swordfish" not in str(caught.value)
        assert connection.in_flight == 0


def test_reply_headers_over_the_limit_are_refused() -> None:
    reader = ReplyReader(lambda _reply, _keep_alive: None)
    with pytest.raises(BadReplyError, match="headers over 65536 bytes"):
        reader.feed(OK[:17] + b"X: " + b"x" * MAX_HEADER_BYTES + b"\r\n\r\n")


def test_a_reply_body_over_the_limit_is_refused() -> None:
    reader = ReplyReader(lambda _reply, _keep_alive: None)
    reader.feed(OK[:17] + b"Content-Length: 300000000\r\n\r\n")
    reader.feed(bytes(MAX_BODY_BYTES))
    with pytest.raises(BadReplyError, match="a body over 134217728 bytes"):
        reader.feed(b"1")
