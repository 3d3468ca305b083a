"""An event loop in a thread of its own, for callers that have none."""

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from app.client.errors import ClientClosedError, WaitTimeoutError
from app.client.loops import new_loop

STOP_S: Final = 5.0
"""Longest wait for the thread's end."""

INTERRUPT_S: Final = 0.5
"""Longest until a Ctrl-C is seen that comes just as the caller falls asleep.

Python notes a signal and raises the interrupt where it next runs code; a wait for a lock that begins in between runs
none until it ends.
"""

ResultT = TypeVar("ResultT")


class LoopThread:
    """Runs coroutines for any thread. The thread is a daemon: it keeps no interpreter from ending."""

    def __init__(self, name: str) -> None:
        self._loop = new_loop()
        self._guard = threading.Lock()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, ResultT], timeout_s: float) -> ResultT:
        """Returns what a coroutine returns; it is cancelled where the caller is interrupted.

        Raises:
          WaitTimeoutError: It took longer than ``timeout_s`` and was cancelled.
          ClientClosedError: The thread is stopped.
        """
        with self._guard:
            if self._stopped:
                coroutine.close()
                raise ClientClosedError("the client is closed")
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return _result(future, timeout_s)
        except concurrent.futures.CancelledError:
            raise ClientClosedError("the client was closed meanwhile") from None
        except TimeoutError:
            raise WaitTimeoutError(f"no result within {timeout_s:g} s") from None
        finally:
            future.cancel()  # Does nothing to one that is done.

    def stop(self) -> None:
        """Cancels what is under way, and ends and joins the thread; does nothing the second time."""
        with self._guard:
            stopped, self._stopped = self._stopped, True
        if not stopped:
            self._loop.call_soon_threadsafe(self._loop.stop)
        if threading.current_thread() is not self._thread:
            self._thread.join(STOP_S)

    def _run(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            if tasks := asyncio.all_tasks(loop):
                for task in tasks:
                    task.cancel()
                loop.run_until_complete(asyncio.wait(tasks, timeout=STOP_S))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()


def _result(future: concurrent.futures.Future[ResultT], timeout_s: float) -> ResultT:
    end_s = time.monotonic() + timeout_s
    while (left_s := end_s - time.monotonic()) > INTERRUPT_S:
        try:
            return future.result(INTERRUPT_S)
        except TimeoutError:
            if future.done():  # The coroutine's own error, or a result of just now.
                break
    return future.result(max(0.0, left_s))
