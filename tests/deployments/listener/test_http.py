import asyncio
import random
from collections import defaultdict
from collections.abc import Iterator

import orjson
import pytest

from app.errors import BadPayloadError
from app.wire.http import BYTES, BodyStream, HttpReply, HttpRequest
from deployments.listener.requests import MAX_UNDER_WAY
from tests.deployments.wire_client import WAIT_S, Client, ends, eventually, listening, post


class Service:
    """Echoes the path; a path that holds ``wait`` is answered when the test opens its door."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.doors: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._seen: dict[int, asyncio.Event] = {}
        self.body = b""
        """In place of the echo."""

    async def answer(self, request: HttpRequest) -> HttpReply:
        self.paths.append(request.path)
        for count, seen in self._seen.items():
            if len(self.paths) >= count:
                seen.set()
        if "wait" in request.path:
            await self.doors[request.path].wait()
        if "bad" in request.path:
            raise BadPayloadError("no observation")
        if "bug" in request.path:
            raise ZeroDivisionError("a bug of ours")
        return HttpReply(200, self.body or orjson.dumps({"path": request.path, "body": request.body.decode()}))

    async def until(self, count: int) -> None:
        """Returns when so many requests have come."""
        seen = self._seen[count] = asyncio.Event()
        if len(self.paths) >= count:
            seen.set()
        await asyncio.wait_for(seen.wait(), WAIT_S)


async def paths_of(client: Client, count: int) -> list[str]:
    return [(await client.reply()).json["path"] for _ in range(count)]


async def test_a_request_is_answered() -> None:
    async with listening(Service().answer) as listener, listener.client() as client:
        client.send(post("/a", b"hello"))
        reply = await client.reply()
        assert (reply.status, reply.json) == (200, {"path": "/a", "body": "hello"})
        assert "connection" not in reply.headers
        client.send(post("/b"))
        assert (await client.reply()).json["path"] == "/b"


async def test_replies_come_in_the_order_of_the_requests_however_they_finish() -> None:
    service = Service()
    async with listening(service.answer) as listener, listener.client() as client:
        client.send(*(post(f"/wait/{number}") for number in range(50)))
        await service.until(50)
        order = [f"/wait/{number}" for number in range(50)]
        random.Random(0).shuffle(order)  # noqa: S311  # A test, not a secret.
        for path in order:
            service.doors[path].set()
            await asyncio.sleep(0)
        assert await paths_of(client, 50) == [f"/wait/{number}" for number in range(50)]


async def test_a_slow_connection_does_not_hold_up_another() -> None:
    service = Service()
    async with listening(service.answer) as listener, listener.client() as slow, listener.client() as quick:
        slow.send(post("/wait"))
        await service.until(1)
        quick.send(post("/quick"))
        assert await paths_of(quick, 1) == ["/quick"]
        service.doors["/wait"].set()
        assert await paths_of(slow, 1) == ["/wait"]


async def test_a_request_may_come_byte_by_byte() -> None:
    async with listening(Service().answer) as listener, listener.client() as client:
        for byte in post("/a", b"hello"):
            client.send(bytes([byte]))
            await client.writer.drain()
            await asyncio.sleep(0)
        assert (await client.reply()).json["body"] == "hello"


async def test_errors_are_told_and_the_connection_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    async with listening(Service().answer) as listener, listener.client() as client:
        client.send(post("/bad"), post("/bug"), post("/good"))
        bad, bug, good = [await client.reply() for _ in range(3)]
    assert (bad.status, bad.json["code"], bad.json["detail"]) == (422, "bad_payload", "no observation")
    assert (bug.status, bug.json["code"]) == (500, "agent_error")
    assert bug.json["detail"] == "the service failed: ZeroDivisionError"  # The log has the rest.
    assert "a bug of ours" in caplog.text
    assert good.status == 200


@pytest.mark.parametrize("garbage", [b"\x00\x00\x00\x05hello", b"\x16\x03\x01\x02\x00\x01", b"hello there\r\n\r\n"])
async def test_garbage_is_answered_behind_what_came_before_and_the_connection_ends(garbage: bytes) -> None:
    service = Service()
    async with listening(service.answer) as listener, listener.client() as client:
        client.send(post("/wait"), garbage)
        await service.until(1)
        service.doors["/wait"].set()
        assert await paths_of(client, 1) == ["/wait"]
        reply = await client.reply()
        assert (reply.status, reply.json["code"], reply.headers["connection"]) == (400, "bad_request", "close")
        assert await client.rest() == b""


async def test_a_body_over_the_limit_is_refused_and_the_sender_can_read_so_though_it_still_sends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("deployments.listener.connection.LINGER_S", 60)  # However long the sending takes.
    async with listening(Service().answer, max_body_bytes=1000) as listener, listener.client() as client:
        client.send(b"POST /step HTTP/1.1\r\nContent-Length: 30000000\r\n\r\n")
        for _ in range(30):
            client.send(bytes(1_000_000))
            await asyncio.wait_for(client.writer.drain(), WAIT_S)
        reply = await client.reply()
        assert (reply.status, reply.json["code"]) == (413, "body_too_large")
        assert await client.rest() == b""


async def test_what_follows_a_refusal_is_not_run() -> None:
    service = Service()
    async with listening(service.answer) as listener, listener.client() as client:
        client.send(b"GE\x00\x00", post("/late"))
        assert (await client.reply()).status == 400
        client.send(post("/later"))
        assert await client.rest() == b""
    assert service.paths == []


async def test_a_peer_that_does_not_close_behind_a_refusal_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deployments.listener.connection.LINGER_S", 0.02)
    async with listening(Service().answer) as listener, listener.client() as client:
        client.send(b"GE\x00\x00")
        await client.rest()
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(send_for_ever(client), WAIT_S)
        assert listener.connections.open == set()


async def test_the_last_request_of_a_connection_is_answered_and_ends_it() -> None:
    service = Service()
    async with listening(service.answer) as listener, listener.client() as client:
        client.send(post("/a"), post("/b", Connection="close"), post("/never"))
        assert [(await client.reply()).headers.get("connection") for _ in range(2)] == [None, "close"]
        assert await client.rest() == b""
    assert service.paths == ["/a", "/b"]


async def test_a_peer_that_has_said_all_still_gets_its_replies() -> None:
    service = Service()
    async with listening(service.answer) as listener, listener.client() as client:
        client.send(post("/wait/1"), post("/wait/2"))
        client.writer.write_eof()
        await service.until(2)
        await asyncio.sleep(0)
        for path in ("/wait/2", "/wait/1"):
            service.doors[path].set()
        assert await paths_of(client, 2) == ["/wait/1", "/wait/2"]
        assert await client.rest() == b""


async def test_a_step_runs_to_its_end_though_its_connection_is_gone() -> None:
    service, ended = Service(), asyncio.Event()

    async def answer(request: HttpRequest) -> HttpReply:
        reply = await service.answer(request)
        ended.set()
        return reply

    async with listening(answer) as listener:
        client = await listener.connect()
        client.send(post("/wait"))
        await service.until(1)
        client.writer.transport.abort()
        service.doors["/wait"].set()
        await asyncio.wait_for(ended.wait(), WAIT_S)


async def test_the_reply_to_head_has_no_body() -> None:
    async with listening(Service().answer) as listener, listener.client() as client:
        client.send(b"HEAD /status HTTP/1.1\r\n\r\n", post("/next"))
        head = await client.reply(head_only=True)
        assert int(head.headers["content-length"]) > 0
        assert (await client.reply()).json["path"] == "/next"


async def test_too_many_pipelined_requests_are_not_read_before_replies_have_left() -> None:
    service = Service()
    async with listening(service.answer) as listener, listener.client() as client:
        number = 3 * MAX_UNDER_WAY
        bodies = [post(f"/wait/{at}", bytes(900)) for at in range(number)]
        for body in bodies:
            client.send(body)
        await service.until(MAX_UNDER_WAY)
        for _ in range(50):
            await asyncio.sleep(0)
        # What one read of the socket holds comes on top.
        assert MAX_UNDER_WAY <= len(service.paths) < number
        for at in range(number):
            service.doors[f"/wait/{at}"].set()
        assert await paths_of(client, number) == [f"/wait/{at}" for at in range(number)]


async def test_a_peer_that_reads_no_replies_is_read_no_further() -> None:
    service = Service()
    service.body = bytes(300_000)
    async with listening(service.answer) as listener, listener.client() as client:
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        total = 2000
        sender = asyncio.create_task(send_all(client, total))
        await service.until(20)
        done = 0
        while len(service.paths) > done:  # Until nothing moves any more.
            done = len(service.paths)
            for _ in range(200):
                await asyncio.sleep(0)
        assert done < total / 2
        client.writer.transport.resume_reading()  # type: ignore[attr-defined]
        received = 0
        async with asyncio.timeout(WAIT_S):
            while received < 400 * 300_000:
                received += len(await client.reader.read(2**20))
        assert len(service.paths) > done
        sender.cancel()


async def send_for_ever(client: Client) -> None:
    while True:
        client.send(b"more")
        await client.writer.drain()
        await asyncio.sleep(0)


async def send_all(client: Client, number: int) -> None:
    for at in range(number):
        client.send(post(f"/{at}", bytes(900)))
        await client.writer.drain()


async def test_a_closing_port_answers_what_is_under_way_and_closes_its_connections() -> None:
    service = Service()
    async with listening(service.answer) as listener, listener.client() as client, listener.client() as idle:
        client.send(post("/wait"))
        await service.until(1)
        finish = asyncio.create_task(listener.connections.finish(WAIT_S))
        await asyncio.sleep(0)
        service.doors["/wait"].set()
        assert await paths_of(client, 1) == ["/wait"]
        await asyncio.wait_for(finish, WAIT_S)
        assert await client.rest() == await idle.rest() == b""


async def test_a_request_to_a_closing_port_is_the_connections_last() -> None:
    service = Service()
    async with listening(service.answer) as listener, listener.client() as client:
        client.send(post("/wait/1"))
        await service.until(1)
        finish = asyncio.create_task(listener.connections.finish(WAIT_S))
        await asyncio.sleep(0)
        client.send(post("/wait/2"), post("/never"))
        await service.until(2)
        service.doors["/wait/1"].set()
        first = await client.reply()
        assert not finish.done()  # It waits for those that came since, too.
        service.doors["/wait/2"].set()
        second = await client.reply()
        assert [reply.headers.get("connection") for reply in (first, second)] == [None, "close"]
        assert await client.rest() == b""
        await asyncio.wait_for(finish, WAIT_S)
    assert service.paths == ["/wait/1", "/wait/2"]


async def test_a_closing_port_does_not_wait_for_ever() -> None:
    service = Service()
    async with listening(service.answer) as listener, listener.client() as client:
        client.send(post("/wait"))
        await service.until(1)
        await asyncio.wait_for(listener.connections.finish(0.02), WAIT_S)
        assert await client.rest() == b""


EXPECT = b"POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


async def test_a_peer_that_waits_with_its_body_gets_the_word_exactly_once() -> None:
    async with listening(Service().answer) as listener, listener.client() as client:
        for _ in range(2):
            client.send(EXPECT)
            async with asyncio.timeout(WAIT_S):
                assert await client.reader.readexactly(len(CONTINUE)) == CONTINUE
            for byte in b"hello":
                client.send(bytes([byte]))
                await client.writer.drain()
                await asyncio.sleep(0)
            reply = await client.reply()
            assert (reply.status, reply.json["body"]) == (200, "hello")


async def test_the_word_waits_for_the_replies_before_it() -> None:
    service = Service()
    async with listening(service.answer) as listener, listener.client() as client:
        client.send(post("/wait"), EXPECT)
        await service.until(1)
        service.doors["/wait"].set()
        assert (await client.reply()).json["path"] == "/wait"
        async with asyncio.timeout(WAIT_S):
            assert await client.reader.readexactly(len(CONTINUE)) == CONTINUE
        client.send(b"hello")
        assert (await client.reply()).json["body"] == "hello"


async def test_a_body_that_is_there_needs_no_word() -> None:
    async with listening(Service().answer) as listener, listener.client() as client:
        client.send(EXPECT + b"hello")
        assert (await client.reply()).status == 200


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (EXPECT.replace(b"100-continue", b"a-pony"), 417),
        (EXPECT.replace(b"5", b"30000000"), 413),
    ],
)
async def test_what_will_be_refused_is_refused_in_place_of_the_word(head: bytes, status: int) -> None:
    async with listening(Service().answer) as listener, listener.client() as client:
        client.send(head)
        reply = await client.reply()
        assert (reply.status, reply.headers["connection"]) == (status, "close")
        assert await client.rest() == b""


async def test_a_chunked_body_is_read_and_what_trails_it_is_not() -> None:
    async with listening(Service().answer) as listener, listener.client() as client:
        client.send(b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        client.send(b"2\r\nhe\r\n3\r\nllo\r\n0\r\nTrailer: x\r\n\r\n", post("/b"))
        assert (await client.reply()).json["body"] == "hello"
        assert (await client.reply()).json["path"] == "/b"


PARTS = [bytes([number]) * 100_000 for number in range(100)]
WHOLE = b"".join(PARTS)


class Streaming(Service):
    """Answers ``/large`` with ten megabytes in parts, and says how many of them it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = 0

    async def answer(self, request: HttpRequest) -> HttpReply:
        reply = await Service.answer(self, request)
        if "large" not in request.path:
            return reply
        return HttpReply(200, b"", BYTES, stream=BodyStream(len(WHOLE), self._parts()))

    def _parts(self) -> Iterator[bytes | memoryview]:
        for part in PARTS:
            self.taken += 1
            yield memoryview(part)


async def test_a_large_body_is_streamed_in_its_turn_between_other_replies() -> None:
    service = Streaming()
    async with listening(service.answer) as listener, listener.client() as client:
        client.send(post("/wait"), post("/large/1"), post("/b"), post("/large/2"), post("/c"))
        await service.until(5)
        assert service.taken == 0
        service.doors["/wait"].set()
        assert (await client.reply()).json["path"] == "/wait"
        assert (await client.reply()).body == WHOLE
        assert (await client.reply()).json["path"] == "/b"
        assert (await client.reply()).body == WHOLE
        assert (await client.reply()).json["path"] == "/c"


async def test_a_head_request_gets_the_size_and_no_part() -> None:
    service = Streaming()
    async with listening(service.answer) as listener, listener.client() as client:
        client.send(b"HEAD /large HTTP/1.1\r\n\r\n", post("/b"))
        assert (await client.reply(head_only=True)).headers["content-length"] == str(len(WHOLE))
        assert (await client.reply()).json["path"] == "/b"
        assert service.taken == 0


async def test_the_last_reply_of_a_connection_may_be_streamed() -> None:
    async with listening(Streaming().answer) as listener, listener.client() as client:
        client.send(post("/large", Connection="close"))
        reply = await client.reply()
        assert (reply.body, reply.headers["connection"]) == (WHOLE, "close")
        assert await ends(client)


async def test_a_peer_that_reads_slowly_holds_up_neither_memory_nor_other_connections() -> None:
    service = Streaming()
    async with listening(service.answer) as listener, listener.client() as slow, listener.client() as other:
        slow.reader._limit = 1  # type: ignore[attr-defined]  # asyncio then reads on only as bytes are taken.
        slow.send(post("/large"))
        await service.until(1)
        taken = -1
        while taken != service.taken:  # Until nothing moves: the sockets' buffers are full.
            taken = service.taken
            for _ in range(20):
                other.send(post("/b"))
                assert (await other.reply()).json["path"] == "/b"
        assert 0 < taken < len(PARTS)
        slow.reader._limit = 2**26  # type: ignore[attr-defined]
        assert (await slow.reply()).body == WHOLE


async def test_a_peer_that_leaves_ends_its_stream() -> None:
    service = Streaming()
    async with listening(service.answer) as listener:
        client = await listener.connect()
        client.send(post("/large"), post("/large"), post("/b"))
        await service.until(3)
        client.writer.transport.abort()
        await eventually(lambda: not listener.connections.open)
        assert service.taken < 2 * len(PARTS)


async def test_a_peer_that_reads_nothing_is_dropped_with_its_stream() -> None:
    service = Streaming()
    async with listening(service.answer, idle_timeout_s=1e6) as listener, listener.client() as client:
        client.reader._limit = 1  # type: ignore[attr-defined]  # As above.
        client.send(post("/large"))
        await eventually(lambda: any(one._blocked_s is not None for one in listener.connections.open))
        next(iter(listener.connections.open)).sweep(listener.connections.loop.time() + 2e6)
        assert listener.connections.counts["connections_stalled"] == 1
        await eventually(lambda: not listener.connections.open)
