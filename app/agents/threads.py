"""A bounded pool of threads for agents that block: each call has a time limit, and a stuck one is named."""

import asyncio
import contextlib
import contextvars
import queue
import threading
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from app.errors import DeadlineExceededError, DrainingError, OverloadedError
from app.stacks import running_in

T = TypeVar("T")

JOIN_S: Final = 2.0
"""Longest wait for the threads to end; one that is stuck is left behind and ends with the process."""


class Call(Generic[T]):
    """One call in the pool."""

    def __init__(self, name: str, function: Callable[[], T]) -> None:
        self.name = name
        context = contextvars.copy_context()  # With the session that lines of the log name.
        self.function: Callable[[], T] = lambda: context.run(function)
        self.loop = asyncio.get_running_loop()
        self.done: asyncio.Future[T] = self.loop.create_future()
        """Settled when the call has ended, whether or not anybody still waits for it."""
        self.done.add_done_callback(_retrieve)
        self.thread_id: int | None = None
        """Thread that runs it; None while it waits."""
        self.started_s = 0.0
        self.given_up = False
        """Whether nobody waits for it."""

    def __str__(self) -> str:
        return f"{self.name}, for {time.monotonic() - self.started_s:.1f} s in {running_in(self.thread_id)}"


class ThreadPool:
    """Runs calls that block; those of one agent are kept in order by whoever makes them."""

    def __init__(self, threads: int, max_waiting: int, timeout_s: float) -> None:
        """Starts the threads.

        Args:
          threads: Calls that run at a time.
          max_waiting: Calls that may wait for a thread; a further one is refused.
          timeout_s: Longest time from asking to answer.
        """
        self._max_waiting = max_waiting
        self._timeout_s = timeout_s
        self._calls: queue.SimpleQueue[Call[object] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0
        self._running: set[Call[object]] = set()
        self._closed = False
        self.gave_up = 0
        """Calls whose caller has gone before they ended."""
        self._threads = [threading.Thread(target=self._work, name=f"agents-{n}", daemon=True) for n in range(threads)]
        for thread in self._threads:
            thread.start()

    def submit(self, name: str, function: Callable[[], T]) -> Call[T]:
        """Returns a call that waits for a thread.

        Args:
          name: What it is, for messages: the agent's class, function and session.
          function: What to run.

        Raises:
          OverloadedError: Too many calls wait already, or every thread is stuck.
          DrainingError: The pool is closed.
        """
        if self._closed:
            raise DrainingError(f"{name} is not run: this replica goes away")
        stuck = self.stuck()
        if len(stuck) >= len(self._threads):
            raise OverloadedError(f"all {len(stuck)} threads for blocking agents are stuck; the first: {stuck[0]}")
        call = Call(name, function)
        with self._lock:
            if self._waiting >= self._max_waiting:
                raise OverloadedError(f"{self._waiting} calls already wait for a thread, as many as are allowed")
            self._waiting += 1
        self._calls.put(call)  # type: ignore[arg-type]  # What comes out of it does not matter here.
        return call

    async def result(self, call: Call[T]) -> T:
        """Returns what the call returns, or raises what it raises.

        Raises:
          DeadlineExceededError: It took too long; a call that has begun runs on and is stuck until it ends.
        """
        try:
            await asyncio.wait({call.done}, timeout=self._timeout_s)
        finally:
            if not call.done.done():
                self._give_up(call)
        if not call.done.done():
            where = "it never got a thread" if call.thread_id is None else f"it is in {running_in(call.thread_id)}"
            raise DeadlineExceededError(f"{call.name} took longer than {self._timeout_s:g} s; {where}")
        return call.done.result()

    async def ended(self, call: Call[T]) -> None:
        """Returns once the call has ended.

        Raises:
          DeadlineExceededError: It does not end in time.
        """
        if not call.done.done():
            await asyncio.wait({call.done}, timeout=self._timeout_s)
        if not call.done.done():
            raise DeadlineExceededError(f"an earlier call is stuck: {call}")

    def stuck(self) -> list[str]:
        """Returns the calls that run although nobody waits for them any more: which, for how long, and where."""
        with self._lock:
            return [str(call) for call in self._running if call.given_up]

    async def close(self) -> list[str]:
        """Ends the threads once what waits has run, and returns the calls that are stuck."""
        self._closed = True
        for _ in self._threads:
            self._calls.put(None)
        await asyncio.to_thread(self._join)
        return self.stuck()

    def _give_up(self, call: Call[T]) -> None:
        with self._lock:
            call.given_up = True
            self.gave_up += 1

    def _join(self) -> None:
        end_s = time.monotonic() + JOIN_S
        for thread in self._threads:
            thread.join(max(0.0, end_s - time.monotonic()))

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            with self._lock:
                self._waiting -= 1
                if not call.given_up:
                    call.thread_id, call.started_s = threading.get_ident(), time.monotonic()
                    self._running.add(call)
            if call.thread_id is None:
                _settle(call, None, asyncio.CancelledError())
            else:
                self._run(call)
            del call  # A thread that waits must not keep the last answer alive.

    def _run(self, call: Call[object]) -> None:
        answer: object = None
        failure: BaseException | None = None
        try:
            answer = call.function()
        except BaseException as error:  # noqa: BLE001  # The user's code may raise anything; the caller is told.
            failure = error
        with self._lock:
            self._running.discard(call)
        _settle(call, answer, failure)


def _settle(call: Call[object], answer: object, failure: BaseException | None) -> None:
    def settle() -> None:
        if isinstance(failure, asyncio.CancelledError):
            call.done.cancel()
        elif isinstance(failure, StopIteration):  # No future can hold it.
            call.done.set_exception(RuntimeError(f"{call.name} raised StopIteration"))
        elif failure is not None:
            call.done.set_exception(failure)
        else:
            call.done.set_result(answer)

    with contextlib.suppress(RuntimeError):  # The loop is closed: nobody waits.
        call.loop.call_soon_threadsafe(settle)


def _retrieve(done: asyncio.Future[T]) -> None:
    """Takes note of a failure, so that one after the caller has gone is not reported as forgotten."""
    if not done.cancelled():
        done.exception()
