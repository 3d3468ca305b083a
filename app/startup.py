"""Ctrl-C while a command is still being imported, when there is nothing to end yet."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

INTERRUPTED: Final = 130
"""Exit code of a command that was interrupted."""


@contextmanager
def ends_at_once() -> Iterator[None]:
    """Ends the process with 130 at a Ctrl-C that comes in the block, which imports and starts nothing.

    An exception out of the signal's handler could hit a library in the middle of its import, and become an error of
    another kind there, or be lost. Nothing is changed where Ctrl-C does not raise: outside the main thread, and in a
    process that ignores it or handles it in its own way.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(_number: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
