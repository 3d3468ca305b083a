"""Ends steps that take too long, with one timer for all of them."""

import asyncio
from typing import Any, Protocol

from app.deadline import StepTime

Task = asyncio.Task[Any]


class Limit(Protocol):
    """The time limit of a step."""

    def expired(self) -> bool:
        """Returns whether the present step was cancelled since its time is up."""


class Deadlines:
    """Cancels tasks that are still at their step after a fixed time.

    All steps have the same limit, so they expire in the order in which they began, and one timer for the oldest is
    enough; a timer a step would cost a fifth of a whole step.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._running: dict[Task, tuple[float, StepTime]] = {}
        self._expired: set[Task] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, task: Task, loop: asyncio.AbstractEventLoop) -> None:
        """Starts the time of a task's step."""
        until_s = loop.time() + self._limit_s
        self._running[task] = until_s, StepTime(until_s)
        if self._timer is None:
            self._timer = loop.call_later(self._limit_s, self._look, loop)

    def end(self, task: Task) -> bool:
        """Ends the time of a task's step; returns whether it was up, and then takes the cancellation back."""
        running = self._running.pop(task, None)
        if running is not None:
            running[1].over()
        if task not in self._expired:
            return False
        self._expired.discard(task)
        return task.uncancel() == 0

    def expired(self) -> bool:
        """Returns whether the present task's step was cancelled since its time is up."""
        return bool(self._expired) and asyncio.current_task() in self._expired

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now_s = loop.time()
        while self._running:
            task, (due_s, step_time) = next(iter(self._running.items()))
            if due_s > now_s:
                self._timer = loop.call_later(due_s - now_s, self._look, loop)
                return
            del self._running[task]
            step_time.over()
            self._expired.add(task)
            task.cancel()
