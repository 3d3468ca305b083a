import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from app.agents.threads import ThreadPool
from app.errors import DeadlineExceededError, DrainingError, OverloadedError


@asynccontextmanager
async def pool(threads: int = 1, max_waiting: int = 10, timeout_s: float = 10.0) -> AsyncIterator[ThreadPool]:
    running = ThreadPool(threads, max_waiting, timeout_s)
    try:
        yield running
    finally:
        assert await running.close() == []
        assert not any(thread.is_alive() for thread in running._threads)


class Gate:
    """Code that blocks until it is let go."""

    def __init__(self) -> None:
        self.entered, self.leave = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self.entered.set()
        assert self.leave.wait(10)
        return "let go"


async def test_a_call_runs_in_another_thread_and_its_answer_comes_back() -> None:
    async with pool() as threads:
        ran_in = await threads.result(threads.submit("x", threading.get_ident))
    assert ran_in != threading.get_ident()


async def test_what_it_raises_comes_back() -> None:
    def fail() -> None:
        raise KeyError("mine")

    def stop() -> None:
        raise StopIteration

    async with pool() as threads:
        with pytest.raises(KeyError, match="mine"):
            await threads.result(threads.submit("x", fail))
        with pytest.raises(RuntimeError, match="StopIteration"):
            await threads.result(threads.submit("x", stop))


async def test_the_loop_goes_on_while_calls_block() -> None:
    gates = [Gate(), Gate()]
    async with pool(threads=2) as threads:
        calls = [threads.submit("x", gate) for gate in gates]
        for gate in gates:
            assert await asyncio.to_thread(gate.entered.wait, 5)  # Both at once.
        for gate in gates:
            gate.leave.set()
        assert [await threads.result(call) for call in calls] == ["let go"] * 2


async def test_more_calls_than_may_wait_are_refused_and_capacity_comes_back() -> None:
    gate = Gate()
    async with pool(max_waiting=2) as threads:
        running = threads.submit("x", gate)
        assert await asyncio.to_thread(gate.entered.wait, 5)
        waiting = [threads.submit("x", int) for _ in range(2)]
        for _ in range(20):
            with pytest.raises(OverloadedError, match="2 calls already wait"):
                threads.submit("x", int)
        gate.leave.set()
        assert [await threads.result(call) for call in (running, *waiting)] == ["let go", 0, 0]
        assert await threads.result(threads.submit("x", int)) == 0


async def test_a_stuck_call_is_counted_named_and_forgotten_when_it_ends() -> None:
    gate = Gate()
    async with pool(threads=2, timeout_s=0.05) as threads:
        call = threads.submit("Slow.on_tick of session 'a'", gate)
        assert await asyncio.to_thread(gate.entered.wait, 5)
        with pytest.raises(
            DeadlineExceededError, match=r"Slow.on_tick of session 'a' took longer than 0.05 s; it is in"
        ):
            await threads.result(call)
        assert threads.gave_up == 1
        (named,) = threads.stuck()
        assert named.startswith("Slow.on_tick of session 'a', for ")
        assert "Gate.__call__ (agents/test_threads.py:" in named
        gate.leave.set()
        assert await call.done == "let go"
        assert threads.stuck() == []


async def test_when_every_thread_is_stuck_calls_are_refused_at_once() -> None:
    gate = Gate()
    async with pool(timeout_s=0.05) as threads:
        call = threads.submit("first", gate)
        assert await asyncio.to_thread(gate.entered.wait, 5)
        with pytest.raises(DeadlineExceededError):
            await threads.result(call)
        with pytest.raises(OverloadedError, match="all 1 threads for blocking agents are stuck; the first: first, for"):
            threads.submit("second", int)
        gate.leave.set()
        await call.done
        assert await asyncio.wait_for(threads.submit("third", int).done, 5) == 0  # The pool's own limit is short.


async def test_a_call_that_nobody_waits_for_is_not_begun() -> None:
    gate, ran = Gate(), threading.Event()
    async with pool() as threads:
        first = threads.submit("first", gate)
        assert await asyncio.to_thread(gate.entered.wait, 5)
        second = threads.submit("second", ran.set)
        waiting = asyncio.create_task(threads.result(second))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        gate.leave.set()
        await threads.result(first)
        with pytest.raises(asyncio.CancelledError):
            await second.done
    assert not ran.is_set()


async def test_a_closed_pool_runs_what_waits_and_refuses_the_rest() -> None:
    threads = ThreadPool(1, 10, 5.0)
    call = threads.submit("x", int)
    assert await threads.close() == []
    assert await threads.result(call) == 0
    with pytest.raises(DrainingError):
        threads.submit("y", int)


async def test_a_pool_with_a_stuck_call_closes_in_time_and_says_which() -> None:
    gate = Gate()
    threads = ThreadPool(1, 10, 0.05)
    call = threads.submit("stuck one", gate)
    assert await asyncio.to_thread(gate.entered.wait, 5)
    with pytest.raises(DeadlineExceededError):
        await threads.result(call)
    (named,) = await threads.close()
    assert named.startswith("stuck one, for ")
    gate.leave.set()
    await asyncio.to_thread(threads._threads[0].join, 5)
    assert not threads._threads[0].is_alive()
