"""Bytes of every kind against the port: it neither crashes nor hangs nor grows, and good clients do not notice.

Runs 5 s; ``SPARRING_FUZZ_S=60`` makes it longer and ``SPARRING_FUZZ_SEED`` different.
"""

import asyncio
import gc
import logging
import os
import random
import resource
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import uvloop

from app.errors import BadPayloadError, StepError
from app.wire import messages_pb2 as pb
from app.wire.http import HttpReply, HttpRequest
from app.wire.steps import StepReply, StepRequest
from tests.deployments.wire_client import WAIT_S, Client, Listener, listening, post
from tests.deployments.wire_frames import UPGRADE, bray, bray_reply, native, native_reply, step

FUZZ_S = float(os.environ.get("SPARRING_FUZZ_S", "5"))
SEED = int(os.environ.get("SPARRING_FUZZ_SEED", "0"))
WORKERS = 8
ANSWER_S = 20.0
"""Longest time in which a good client is answered while all others talk nonsense."""
GROWTH_BYTES = 24 * 2**20
MAX_BODY_BYTES = 4096
SEEDS = [
    post("/step", b"x" * 50, session="s", step_kind="start"),
    post("/steps?purpose=play", b"[]") * 5,
    b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n",
    b"POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
    b"OPTIONS * HTTP/1.1\r\n\r\nHEAD /status HTTP/1.1\r\n\r\n",
    UPGRADE,
    UPGRADE + b"\x82\x85\x00\x00\x00\x00hello" + b"\x02\x80\x00\x00\x00\x00\x80\x81\x00\x00\x00\x00x",
    UPGRADE + b"\x89\x80\x00\x00\x00\x00\x88\x80\x00\x00\x00\x00",
    bray("game-agent-a", "start") + bray("game-agent-a", "tick", b"{}" * 20, time=8) * 5,
    bray("refused", "tick"),
    native(step(1, "s", b"body")) * 5,
    native(pb.Request(batch=pb.Batch(steps=[pb.Step(session="s"), pb.Step(session="refused")] * 5))),
    native(pb.Request(step=pb.Step(session="s"), protocol=9)),
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"",
]


class Echo:
    """Echoes, keeps nothing, and refuses one session."""

    async def answer(self, request: HttpRequest) -> HttpReply:
        await asyncio.sleep(0)
        return HttpReply(200, request.body)

    async def step(self, request: StepRequest) -> StepReply:
        await asyncio.sleep(0)
        if request.session == "refused":
            raise BadPayloadError("as the test wants it")
        assert isinstance(request.body, bytes)
        return StepReply(request.session, request.body, 0)

    async def batch(self, steps: list[StepRequest]) -> list[StepReply | StepError]:
        return [StepReply(step.session, b"", 0) for step in steps]


@pytest.mark.slow
@pytest.mark.timeout(60 + 2 * FUZZ_S)
def test_the_port_survives_any_bytes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    troubles: list[dict[str, Any]] = []
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.get_loop().set_exception_handler(lambda _loop, trouble: troubles.append(trouble))
        sent, growth_bytes = runner.run(fuzz())
    assert sent > FUZZ_S
    assert troubles == []
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert growth_bytes < GROWTH_BYTES


async def fuzz() -> tuple[int, int]:
    """Returns how many connections talked nonsense, and by how much the process grew after a warm-up."""
    source = random.Random(SEED)  # noqa: S311  # A test, not a secret.
    sent = [0] * WORKERS
    async with listening(Echo(), MAX_BODY_BYTES, header_timeout_s=0.5, idle_timeout_s=5, max_connections=100) as port:
        bad = [asyncio.create_task(talk_nonsense(port, source, sent, number)) for number in range(WORKERS)]
        good = [asyncio.create_task(play(port, exchange)) for exchange in (by_http, by_bray, by_native)]
        await watch(bad + good, FUZZ_S * 0.4)
        gc.collect()
        before_bytes = memory_bytes()
        await watch(bad + good, FUZZ_S * 0.6)
        for task in bad + good:
            task.cancel()
        await asyncio.gather(*bad, *good, return_exceptions=True)
        await port.connections.finish(WAIT_S)
        async with asyncio.timeout(WAIT_S):
            await port.connections.until_left(WAIT_S)
        assert port.connections.open == set()
        gc.collect()
        return sum(sent), memory_bytes() - before_bytes


async def watch(tasks: list[asyncio.Task[None]], seconds: float) -> None:
    """Waits, and raises what ends a task before the time."""
    ended, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in ended:
        task.result()


async def play(port: Listener, exchange: Callable[[Client, int], Any]) -> None:
    async with port.client() as client:
        number = 0
        while True:
            number += 1
            async with asyncio.timeout(ANSWER_S):
                await exchange(client, number)
            await asyncio.sleep(0.01)


async def by_http(client: Client, number: int) -> None:
    client.send(post("/good", b"%d" % number))
    assert (await client.reply()).body == b"%d" % number


async def by_bray(client: Client, number: int) -> None:
    client.send(bray("good", "tick", b"%d" % number, time=number))
    assert await bray_reply(client) == ("good", b"%d" % number, number)


async def by_native(client: Client, number: int) -> None:
    client.send(native(step(number, "good", b"%d" % number)))
    reply = await native_reply(client)
    assert (reply.request_id, reply.answer.body) == (number, b"%d" % number)


async def talk_nonsense(port: Listener, source: random.Random, sent: list[int], worker: int) -> None:
    while True:
        client = await port.connect()
        with suppress(OSError, RuntimeError):  # The port closes in the middle of nonsense.
            await send_pieces(client, nonsense(source), source)
            if source.random() < 0.5:
                client.writer.write_eof()
            with suppress(TimeoutError):
                async with asyncio.timeout(0.02):
                    await client.reader.read()
        client.writer.transport.abort() if source.random() < 0.5 else client.writer.close()
        sent[worker] += 1


def nonsense(source: random.Random) -> bytes:
    """Returns something that was a message once, or never."""
    data = bytearray(b"".join(source.choices(SEEDS, k=source.randint(1, 3))))
    for _ in range(source.choice([0, 1, 1, 2, 5, 20])):
        at = source.randrange(len(data) + 1)
        what = source.randrange(4)
        if what == 0:
            data[at : at + 1] = source.randbytes(1)
        elif what == 1:
            data[at:at] = source.randbytes(source.randint(1, 8))
        elif what == 2:
            del data[at : at + source.randint(1, 16)]
        else:
            data[at:at] = data[at : at + source.randint(1, 64)] * source.randint(1, 50)
    return bytes(data) if source.random() < 0.9 else source.randbytes(source.randint(0, 2000))


async def send_pieces(client: Client, data: bytes, source: random.Random) -> None:
    size = source.choice([1, 7, 100, 1 << 20])
    if size == 1:
        data = data[:300]
    for at in range(0, len(data), size):
        client.send(data[at : at + size])
        await asyncio.sleep(0)


def memory_bytes() -> int:
    """Returns what the process holds in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
