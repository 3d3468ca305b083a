"""Shows how a long command goes, on stderr: a moving line on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

LINE_EVERY_S: Final = 5.0
"""Seconds between two plain lines of something that is counted."""


class Stages:
    """What the user sees while a command runs; stdout stays free for its result.

    Use as a context manager. Each line begins with the seconds since the start.
    """

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.time) -> None:
        """Begins.

        Args:
          console: Where it is shown; None means stderr.
          clock: Returns seconds.
        """
        self.console = Console(stderr=True) if console is None else console
        self._clock = clock
        self._started_s = clock()
        self._line_s = 0.0
        self._moving: Progress | None = None
        self._stage: TaskID | None = None
        self._bars: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        """Begins to move, on a terminal."""
        if self.console.is_terminal:
            columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            self._moving = Progress(*columns, TimeElapsedColumn(), console=self.console, transient=True)
            self._moving.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stops to move; the lines stay."""
        if self._moving is not None:
            self._moving.stop()
            self._moving = None

    def tell(self, line: str) -> None:
        """Shows a line, which stays; on a terminal it also stands in the moving line until the next one.

        Args:
          line: Plain text.
        """
        passed_s = self._clock() - self._started_s
        self.console.print(f"[dim]{passed_s:6.1f} s[/]  {escape(line)}", highlight=False, soft_wrap=True)
        if self._moving is None:
            return
        if self._stage is None:
            self._stage = self._moving.add_task(escape(line), total=None)
        self._moving.reset(self._stage, description=escape(line), total=None)

    def count(self, what: str, done: int, of: int) -> None:
        """Shows how much of something is done: a bar on a terminal, elsewhere a line now and then, and the last one.

        Args:
          what: What is counted.
          done: So many.
          of: All of them.
        """
        if self._moving is not None:
            if what not in self._bars:
                self._bars[what] = self._moving.add_task(escape(what), total=of)
            self._moving.update(self._bars[what], completed=done, total=of)
        elif done >= of or self._clock() - self._line_s >= LINE_EVERY_S:
            self._line_s = self._clock()
            self.tell(f"{what}: {done} of {of}")
