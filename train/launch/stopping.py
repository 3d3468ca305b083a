"""Ctrl-C and SIGTERM: noted, acted on where it is safe, and enforced when that takes too long."""

import contextlib
import os
import signal
import sys
import threading
from types import FrameType
from typing import Final, NoReturn

import psutil

from app.startup import INTERRUPTED

ENFORCED_AFTER_S: Final = 7.0
"""Seconds after which whatever is still alive is killed: the user is promised an end within ten."""
GONE_TIMEOUT_S: Final = 0.5
"""Longest wait for killed processes to be gone, a round."""
KILL_ROUNDS: Final = 4
"""Looks for processes that were started while others were killed."""


class InterruptedLaunchError(Exception):
    """The user has asked to stop."""


class Stopper:
    """Notes the wish to stop; an exception out of a signal handler could be lost in whatever code it hits."""

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._seen: set[psutil.Process] = set()
        """All that ran when the wish came: those whose parent ends first are no longer found below us."""

    def install(self) -> None:
        """Takes over SIGINT and SIGTERM; only the main thread may."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._note)

    def requested(self) -> bool:
        """Returns whether the user has asked to stop."""
        return self._requested.is_set()

    def check(self) -> None:
        """Does nothing until the user asks to stop.

        Raises:
          InterruptedLaunchError: The user has asked.
        """
        if self._requested.is_set():
            raise InterruptedLaunchError

    def enforce(self) -> NoReturn:
        """Kills all that this process has started, and ends it."""
        for _ in range(KILL_ROUNDS):
            self._seen.update(psutil.Process().children(recursive=True))
            alive = [process for process in self._seen if process.is_running()]
            for process in alive:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            if not alive:
                break
            psutil.wait_procs(alive, timeout=GONE_TIMEOUT_S)
        sys.stderr.flush()
        os._exit(INTERRUPTED)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        if not self._requested.is_set():
            self._requested.set()
            self._seen.update(psutil.Process().children(recursive=True))
            timer = threading.Timer(ENFORCED_AFTER_S, self.enforce)
            timer.daemon = True
            timer.start()
