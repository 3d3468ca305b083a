"""A loop that really stands still, and one replica beside it that does not."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import cast

import pytest

from deployments.shared_listener import SharedListener
from deployments.watchdog import Block, LoopState, Watchdog

HOST = "127.0.0.1"
WAIT_S = 30.0


def nothing() -> str:
    raise AssertionError("asked what a running loop runs")


def test_a_loop_that_beats_is_never_blocked() -> None:
    state = LoopState(0.0)
    for number in range(1, 100):
        assert not state.beat(number * 0.25 + 0.1, number * 0.25)
        assert not state.look(number * 0.25 + 0.2, nothing)
    assert (state.block, state.blocks) == (None, 0)
    assert state.lag_s == pytest.approx(0.1)


def test_a_block_begins_once_and_ends_with_the_next_beat() -> None:
    state = LoopState(0.0)
    assert not state.look(1.2, nothing)
    assert state.look(1.5, lambda: "on_tick")
    assert not state.look(1.75, lambda: "on_tick")
    assert state.block == Block("on_tick", 1.5)
    assert state.beat(2.0, 0.25)
    assert (state.block, state.last, state.blocks) == (None, Block("on_tick", 1.75), 1)
    assert not state.beat(2.25, 2.25)


def test_a_second_block_is_counted_and_shown_anew() -> None:
    state = LoopState(0.0)
    state.look(2.0, lambda: "first")
    state.beat(2.0, 0.25)
    assert state.look(4.0, lambda: "second")
    assert (state.blocks, state.block and state.block.what) == (2, "second")


def test_the_loops_own_time_stands_still_with_it_and_never_goes_back() -> None:
    state = LoopState(0.0)
    seen = [state.running_s(now_s) for now_s in (0.0, 0.2, 0.25, 3.0, 6.0)]
    state.beat(6.25, 0.25)
    seen += [state.running_s(now_s) for now_s in (6.25, 6.4)]
    state.beat(6.5, 6.5)
    seen.append(state.running_s(6.6))
    assert seen == pytest.approx([0.0, 0.2, 0.25, 0.25, 0.25, 0.25, 0.4, 0.6])


class CountedPort:
    """Counts how often it is shut."""

    def __init__(self) -> None:
        self.shuts = 0

    def shut(self) -> None:
        self.shuts += 1

    async def reopen(self) -> None:
        raise AssertionError("the loop has not beaten")


def test_a_look_that_comes_late_itself_shuts_no_port_and_the_next_one_does() -> None:
    watchdog, port = Watchdog(), CountedPort()
    watchdog.guard(port, lambda: True)
    began_s = time.monotonic()
    watchdog.look(began_s + 5.0)  # The machine stood still: the loop may run again by now.
    assert watchdog.degraded() is not None
    assert port.shuts == 0
    watchdog.look(began_s + 5.25)
    assert port.shuts == 1


class Greeting(asyncio.Protocol):
    """Says which replica has accepted, and closes."""

    def __init__(self, name: bytes) -> None:
        self.name = name

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        writing = cast("asyncio.Transport", transport)  # uvloop's is no subclass of it.
        writing.write(self.name)
        writing.close()


class Neighbour:
    """Another replica on the same port, on a loop and a thread of its own."""

    def __init__(self, port: int, make_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
        self.loop = make_loop()
        self.listener = SharedListener(HOST, port, lambda: Greeting(b"neighbour"), shared=True)
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        asyncio.run_coroutine_threadsafe(self.listener.open(), self.loop).result(WAIT_S)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.listener.close)
        self.loop.call_soon_threadsafe(self.loop.call_later, 0.05, self.loop.stop)
        self.thread.join(5)
        self.loop.close()


def ask(port: int, times: int) -> set[bytes]:
    """Returns who has accepted."""
    return {_greeted(port) for _ in range(times)}


def _greeted(port: int) -> bytes:
    with socket.create_connection((HOST, port), timeout=WAIT_S) as connection:
        return connection.recv(100)


@asynccontextmanager
async def running(watchdog: Watchdog) -> AsyncIterator[Watchdog]:
    task = asyncio.get_running_loop().create_task(watchdog.run())
    await asyncio.sleep(0)
    try:
        yield watchdog
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_while_a_replica_stands_still_new_connections_reach_the_other() -> None:
    blocks: list[Block | None] = []
    shut, over, answers = threading.Event(), asyncio.Event(), list[set[bytes]]()

    class Told(SharedListener):
        """Tells when it is shut."""

        def shut(self) -> None:
            super().shut()
            shut.set()

    def changed(block: Block | None) -> None:
        blocks.append(block)
        if block is None:
            over.set()

    def outside() -> None:
        assert shut.wait(WAIT_S)
        answers.append(ask(listener.port, 60))

    def on_tick_of_an_agent() -> None:
        """Blocks the loop, which is what is tested, until the others have been asked."""
        other = threading.Thread(target=outside)
        other.start()
        other.join(2 * WAIT_S)

    listener = Told(HOST, 0, lambda: Greeting(b"blocked"), shared=True)
    await listener.open()
    neighbour = Neighbour(listener.port, type(asyncio.get_running_loop()))

    try:
        assert await asyncio.to_thread(ask, listener.port, 60) == {b"blocked", b"neighbour"}
        async with running(Watchdog(changed)) as watchdog:
            watchdog.guard(listener, lambda: True)
            on_tick_of_an_agent()
            assert watchdog.degraded() is not None  # No beat yet.
            async with asyncio.timeout(WAIT_S):
                await over.wait()
            assert watchdog.degraded() is None
            assert answers == [{b"neighbour"}]
            assert await asyncio.to_thread(ask, listener.port, 60) == {b"blocked", b"neighbour"}
            assert sum("on_tick_of_an_agent (deployments/test_watchdog.py:" in str(one) for one in blocks) == 1
    finally:
        neighbour.close()
        listener.close()
    assert blocks[0] is not None
    assert "on_tick_of_an_agent (deployments/test_watchdog.py:" in str(blocks[0])
    assert blocks[1] is None


async def test_a_port_that_nobody_shares_stays_open() -> None:
    listener = SharedListener(HOST, 0, lambda: Greeting(b"alone"), shared=True)
    await listener.open()
    begun, over = threading.Event(), asyncio.Event()

    def changed(block: Block | None) -> None:
        if block is None:
            over.set()
        else:
            begun.set()

    greeted = threading.Thread(target=lambda: begun.wait(WAIT_S) and answers.append(_greeted(listener.port)))
    answers: list[bytes] = []
    async with running(Watchdog(changed)) as watchdog:
        watchdog.guard(listener, lambda: False)
        greeted.start()
        assert begun.wait(WAIT_S)  # Blocks the loop until it is noticed.
        async with asyncio.timeout(WAIT_S):
            await over.wait()
        await asyncio.to_thread(greeted.join, WAIT_S)
    listener.close()
    assert answers == [b"alone"]


async def test_the_thread_ends_with_its_task() -> None:
    async with running(Watchdog()):
        assert any(thread.name == "watchdog" for thread in threading.enumerate())
    assert not any(thread.name == "watchdog" for thread in threading.enumerate())


async def test_a_listener_that_is_closed_cannot_be_shut_or_opened_by_accident() -> None:
    listener = SharedListener(HOST, 0, lambda: Greeting(b"x"), shared=False)
    await listener.open()
    assert await asyncio.to_thread(_greeted, listener.port) == b"x"
    listener.close()
    listener.shut()
    await listener.reopen()
    await asyncio.sleep(0)
    with pytest.raises(OSError, match="refused"):
        await asyncio.to_thread(_greeted, listener.port)


async def test_a_port_that_is_taken_is_refused_and_leaves_no_socket() -> None:
    with socket.create_server((HOST, 0)) as taken:
        listener = SharedListener(HOST, taken.getsockname()[1], lambda: Greeting(b"x"), shared=False)
        with pytest.raises(OSError, match="in use"):
            await listener.open()
