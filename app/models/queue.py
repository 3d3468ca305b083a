"""Collects what all sessions ask and asks the network once for all of it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from app.deadline import step_until_s
from app.models.batching import BatchLimits, Forward
from app.models.engine import Answer
from app.models.question import Decision, Leaves, Prepared
from app.models.settling import fail, gathered, settle
from app.models.spec import ModelSpec
from app.models.splitting import forgiving
from app.models.times import ModelTimes
from app.models.times import now_s as clock_s
from app.models.waiting import ALWAYS, Batch, Waiting, WaitingLine, Within, refuse_more
from app.types import Version

AsyncForward = Callable[[Leaves, Leaves, Version | None, Within], Awaitable[Answer]]
"""Answers a batch from another process; the times are in seconds from now."""


class LocalQueue:
    """Answers in this process: all that arrived in one turn of the event loop, or in ``wait_s``, is one batch."""

    def __init__(self, spec: ModelSpec, forward: Forward, limits: BatchLimits) -> None:
        self._spec = spec
        self._forward = forgiving(forward)
        self._wait_s = limits.wait_s
        self._line = WaitingLine(limits)
        self._timer: asyncio.TimerHandle | None = None
        self._due = False
        """Whether the next batch is asked in the next turn of the loop."""
        self.batches = 0
        self.times: ModelTimes | None = None
        """Takes how long decisions wait; None measures nothing."""

    @property
    def waiting_rows(self) -> int:
        """Returns how many observations wait."""
        return self._line.rows

    @property
    def late(self) -> int:
        """Returns how many questions were not asked since their time was up."""
        return self._line.late

    def decide(self, question: Prepared) -> asyncio.Future[Decision]:
        """Returns the decision to come.

        Raises:
          OverloadedError: Too many wait already.
        """
        until_s = step_until_s()
        within = ALWAYS if until_s is None else Within(until_s, until_s)
        outcome: asyncio.Future[Decision] = self._line.put(question, 1, within)
        if not self._due:
            self._wake()
        return outcome

    def answer(self, batch: Batch, within: Within | None = None) -> asyncio.Future[Answer]:
        """Returns the answer to come.

        Args:
          batch: What is asked.
          within: When the answer is wanted, in seconds from now; None takes the present step's time.

        Raises:
          OverloadedError: Too many wait already.
        """
        times = _of_this_step() if within is None else _on_the_clock(within)
        outcome: asyncio.Future[Answer] = self._line.put(batch, len(batch.inputs[0]), times)
        if not self._due:
            self._wake()
        return outcome

    def hurry(self) -> None:
        """Waits for no fuller batch: what waits is asked in the next turn of the loop."""
        if not self._due and len(self._line):
            self._due = True
            asyncio.get_running_loop().call_soon(self._answer_next)

    def _wake(self) -> None:
        if self._wait_s <= 0 or self._line.full:
            self.hurry()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._wait_s, self.hurry)

    def _answer_next(self) -> None:
        self._due = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for version, group in self._line.take(asyncio.get_running_loop().time()).items():
            self._answer(version, group)
        self.hurry()  # What did not fit lets the rest of the loop run before it.

    def _answer(self, version: Version | None, group: list[Waiting]) -> None:
        """Asks for all at once; a row that makes the network fail hurts no other."""
        self.batches += 1
        try:
            begun_s = clock_s()
            answer = self._forward(*gathered(self._spec, group), version)
            if self.times is not None:
                self.times.took(group, begun_s)
            settle(self._spec, group, answer)
        except Exception as error:  # noqa: BLE001  # The user's network may raise anything; each waiter is told.
            fail(group, error)


class RemoteQueue:
    """Answers from another process: of each version one call is under way at a time and carries all that wait for it.

    So who waits for weights that the other process has to fetch first keeps nobody else waiting.
    """

    def __init__(self, spec: ModelSpec, forward: AsyncForward, limits: BatchLimits, timeout_s: float) -> None:
        self._spec = spec
        self._forward = forward
        self._limits = limits
        self._timeout_s = timeout_s
        self._lines: dict[Version | None, WaitingLine] = {}
        self._pumps: dict[Version | None, asyncio.Task[None]] = {}
        self._late = 0
        """Questions of lines that are gone."""
        self.batches = 0
        self.times: ModelTimes | None = None
        """Takes how long decisions wait; None measures nothing."""

    @property
    def waiting_rows(self) -> int:
        """Returns how many observations wait for a call under way to end."""
        return sum(line.rows for line in self._lines.values())

    @property
    def late(self) -> int:
        """Returns how many questions were not asked since their time was up."""
        return self._late + sum(line.late for line in self._lines.values())

    def decide(self, question: Prepared) -> asyncio.Future[Decision]:
        """Returns the decision to come.

        Raises:
          OverloadedError: Too many wait already.
        """
        return self._put(question, 1)

    def answer(self, batch: Batch) -> asyncio.Future[Answer]:
        """Returns the answer to come.

        Raises:
          OverloadedError: Too many wait already.
        """
        return self._put(batch, len(batch.inputs[0]))

    def _put(self, asked: Prepared | Batch, rows: int) -> asyncio.Future[Any]:
        refuse_more(self.waiting_rows, self._limits)
        version = asked.version
        line = self._lines.get(version)
        if line is None:
            line = self._lines[version] = WaitingLine(self._limits)
            self._pumps[version] = asyncio.get_running_loop().create_task(self._answer_waiting(version, line))
        return line.put(asked, rows, _of_this_step())

    async def _answer_waiting(self, version: Version | None, line: WaitingLine) -> None:
        await asyncio.sleep(0)  # Lets the rest of this loop turn join the batch.
        loop = asyncio.get_running_loop()
        try:
            while line:
                for group in line.take(loop.time()).values():
                    await self._answer(version, group, loop.time())
        finally:
            self._late += line.late
            del self._lines[version], self._pumps[version]

    async def _answer(self, version: Version | None, group: list[Waiting], now_s: float) -> None:
        self.batches += 1
        nearest_s = min(item.within.nearest_s for item in group) - now_s
        last_s = max(item.within.last_s for item in group) - now_s
        begun_s = clock_s()
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._forward(*gathered(self._spec, group), version, Within(nearest_s, last_s))
            if self.times is not None:
                self.times.took(group, begun_s)
            settle(self._spec, group, answer)
        except asyncio.CancelledError as error:  # The call's end where this task's was not asked for.
            fail(group, error)
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
        except Exception as error:  # noqa: BLE001  # Whatever the other process raised, each waiter is told.
            fail(group, error)


def _of_this_step() -> Within:
    until_s = step_until_s()
    return ALWAYS if until_s is None else Within(until_s, until_s)


def _on_the_clock(within: Within) -> Within:
    now_s = asyncio.get_running_loop().time()
    return Within(now_s + within.nearest_s, now_s + within.last_s)
