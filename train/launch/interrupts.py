"""Ctrl-C in a process that is not ours to end, such as a notebook's: noted, and raised where that is safe."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Protocol, Self


class Interruptible(Protocol):
    """Knows whether the user has asked to stop."""

    def install(self) -> None:
        """Takes over the signals, again where another part has taken them."""

    def check(self) -> None:
        """Does nothing until the user asks to stop, and then raises."""


class Interrupts:
    """Notes Ctrl-C for as long as a ``with`` block runs; outside the main thread, where none arrives, it notes nothing.

    The first one is noted, and raised by ``check``: an exception out of a signal handler could be lost in whatever code
    it hits. Each further one goes where it went before.
    """

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._previous = signal.getsignal(signal.SIGINT)

    def __enter__(self) -> Self:
        """Begins to note anew."""
        self._requested.clear()
        self._previous = signal.getsignal(signal.SIGINT)
        self.install()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Gives the signal back."""
        if _in_main_thread():
            signal.signal(signal.SIGINT, self._previous)

    def install(self) -> None:
        """Takes over SIGINT, again where another part has taken it."""
        if _in_main_thread():
            signal.signal(signal.SIGINT, self._note)

    def check(self) -> None:
        """Does nothing until the user asks to stop.

        Raises:
          KeyboardInterrupt: The user has asked.
        """
        if self._requested.is_set():
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._requested.is_set() and callable(self._previous):
            self._previous(number, frame)
        self._requested.set()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
