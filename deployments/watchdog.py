"""Notices an event loop that stands still, says what it runs, and keeps new connections away until it runs again."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from app.stacks import running_in

LAG_MAX_S: Final = 1.0
"""Delay of the loop above which the replica is degraded."""
LOOK_S: Final = 0.25
"""Seconds between two beats of the loop, and between two looks of the thread."""
JOIN_S: Final = 2.0
"""Longest wait for the thread to end: a few looks."""

_log = logging.getLogger(__name__)


class Port(Protocol):
    """A listening port that can be shut from outside its loop."""

    def shut(self) -> None:
        """Accepts no more connections; from any thread, and again without harm."""

    async def reopen(self) -> None:
        """Accepts connections again; on the loop."""


@dataclass(frozen=True, slots=True)
class Block:
    """One time that the loop stood still."""

    what: str
    """Function and line that it was in."""
    lag_s: float
    """For how long, as far as it is known."""

    def __str__(self) -> str:
        return f"the event loop stands still for {self.lag_s:.1f} s in {self.what}"


class LoopState:
    """Decides from the loop's beats whether it runs; the clock comes from outside."""

    def __init__(self, now_s: float, lag_max_s: float = LAG_MAX_S) -> None:
        self._beat_s = self._look_s = now_s
        self._lag_max_s = lag_max_s
        self._still_s = 0.0
        self.block: Block | None = None
        """What the loop stands still in; None while it runs."""
        self.last: Block | None = None
        """The newest block that is over."""
        self.blocks = 0
        """Blocks since the start."""
        self.lag_s = 0.0
        """Longest delay of the newest beat or of the present one."""
        self.stands_alone = False
        """Whether the newest look came on time; where not, the whole process stood still, and not its loop alone."""

    def beat(self, now_s: float, expected_s: float) -> bool:
        """Takes a beat of the loop that was due at ``expected_s``; returns whether a block is over with it."""
        self._still_s += self._late_s(now_s)
        self._beat_s = now_s
        self.lag_s = max(0.0, now_s - expected_s)
        if self.block is None:
            return False
        self.last, self.block = Block(self.block.what, max(self.lag_s, self.block.lag_s)), None
        return True

    def running_s(self, now_s: float) -> float:
        """Returns seconds that grow while the loop runs, and not while it stands still; they never go back."""
        return now_s - self._still_s - self._late_s(now_s)

    def look(self, now_s: float, what: Callable[[], str]) -> bool:
        """Looks from outside; returns whether a block has begun since the last look.

        Args:
          now_s: Present time.
          what: Returns what the loop is in; asked only where it stands still.
        """
        self.stands_alone = now_s - self._look_s <= LOOK_S + self._lag_max_s
        self._look_s = now_s
        lag_s = self._late_s(now_s)
        if lag_s <= self._lag_max_s:
            return False
        self.lag_s = lag_s
        begun = self.block is None
        self.block = Block(what(), lag_s)
        self.blocks += begun
        return begun

    def _late_s(self, now_s: float) -> float:
        return max(0.0, now_s - self._beat_s - LOOK_S)


class Watchdog:
    """A thread that looks after one event loop; it kills nothing and ends no session."""

    def __init__(self, changed: Callable[[Block | None], None] | None = None) -> None:
        """Makes a watchdog of the running loop.

        Args:
          changed: Told in the thread that a block has begun, with it, and on the loop that it is over, with None.
        """
        self.state = LoopState(time.monotonic())
        self._port: Port | None = None
        self._shared: Callable[[], bool] = lambda: False
        self._changed = changed
        self._loop_thread = threading.get_ident()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    async def run(self) -> None:
        """Beats for as long as it runs, and watches the beats from a thread."""
        self._thread.start()
        try:
            while True:
                due_s = time.monotonic() + LOOK_S
                await asyncio.sleep(LOOK_S)
                await self._beat(due_s)
        finally:
            self._stop.set()
            await asyncio.to_thread(self._thread.join, JOIN_S)

    def guard(self, port: Port, shared: Callable[[], bool]) -> None:
        """Shuts a port from now on while the loop stands still.

        Args:
          port: The port.
          shared: Tells, in the watchdog's thread, whether others listen there at this moment; if none does, the port
            is left alone: a connection that waits is better than one refused.
        """
        self._port, self._shared = port, shared

    def clock(self) -> float:
        """Returns seconds in which the loop ran: a game core that could not be heard has not been idle."""
        return self.state.running_s(time.monotonic())

    def degraded(self) -> str | None:
        """Returns what the loop stands still in; None while it runs."""
        block = self.state.block
        return None if block is None else str(block)

    def look(self, now_s: float) -> None:
        """Looks at the loop from the thread, once.

        Args:
          now_s: Present time, of ``time.monotonic``.
        """
        with self._lock:
            begun = self.state.look(now_s, lambda: running_in(self._loop_thread))
            block = self.state.block
            if block is not None and self.state.stands_alone and self._port is not None and self._shared():
                self._port.shut()  # Within the lock: a beat in between would have it shut for good.
        if begun:
            _log.warning("%s", block)
            if self._changed is not None:
                self._changed(block)

    async def _beat(self, due_s: float) -> None:
        with self._lock:
            over = self.state.beat(time.monotonic(), due_s)
        if not over:
            return
        _log.warning("the event loop runs again: %s", self.state.last)
        if self._port is not None:
            await self._port.reopen()
        if self._changed is not None:
            self._changed(None)

    def _watch(self) -> None:
        while not self._stop.wait(LOOK_S):
            self.look(time.monotonic())
