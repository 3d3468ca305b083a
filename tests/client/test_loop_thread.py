"""The event loop in a thread of its own."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.client.errors import ClientClosedError, WaitTimeoutError
from app.client.loop_thread import INTERRUPT_S, LoopThread

from .background import WAIT_S

ROOT = Path(__file__).parents[2]

UNHEARD = """
import _thread, asyncio, sys, threading
from app.client.loop_thread import LoopThread

async def interrupt() -> None:
    main = threading.main_thread().ident
    while sys._current_frames()[main].f_code is not threading.Condition.wait.__code__:
        await asyncio.sleep(0)
    _thread.interrupt_main()  # It is noted, but ends no system call.
    await asyncio.Event().wait()

try:
    LoopThread("loop").run(interrupt(), float(sys.argv[1]))
except KeyboardInterrupt:
    raise SystemExit(3)
"""


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    thread = LoopThread("loop")
    yield thread
    thread.stop()


def test_an_interrupt_that_ends_no_system_call_is_seen_long_before_the_limit() -> None:
    command = [sys.executable, "-c", UNHEARD, str(10 * WAIT_S)]
    assert subprocess.run(command, cwd=ROOT, timeout=WAIT_S, check=False).returncode == 3


def test_a_result_that_takes_longer_than_one_look_is_returned(thread: LoopThread) -> None:
    async def answer() -> int:
        await asyncio.sleep(1.5 * INTERRUPT_S)
        return 7

    assert thread.run(answer(), WAIT_S) == 7


@pytest.mark.parametrize("limit_s", [0.0, 0.05, 1.2 * INTERRUPT_S])
def test_what_takes_longer_than_its_limit_is_cancelled_there(thread: LoopThread, limit_s: float) -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def never() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    begun_s = time.monotonic()
    with pytest.raises(WaitTimeoutError, match=f"no result within {limit_s:g} s"):
        thread.run(never(), limit_s)
    assert time.monotonic() - begun_s >= limit_s
    begins = limit_s > INTERRUPT_S  # A shorter limit may be over before its first line.
    assert not (begins or begun.is_set()) or thread.run(cancelled.wait(), WAIT_S)


def test_an_error_of_the_coroutine_is_raised(thread: LoopThread) -> None:
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match=r"^no$"):
        thread.run(fail(), WAIT_S)


def test_a_stopped_thread_runs_nothing(thread: LoopThread) -> None:
    async def nothing() -> None:
        pass

    thread.stop()
    with pytest.raises(ClientClosedError, match="the client is closed"):
        thread.run(nothing(), WAIT_S)
