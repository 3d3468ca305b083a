"""Answers steps within their time: what all steps have, or the less that a game core gives one."""

import asyncio
from collections.abc import Awaitable, Callable

from app.deadline import StepTime
from app.errors import DeadlineExceededError
from app.sessions.deadlines import Deadlines, Limit
from app.wire.steps import StepReply, StepRequest

Play = Callable[[StepRequest, Limit], Awaitable[StepReply]]
"""Answers a step, and can ask its limit whether the time is up."""


class TimedSteps:
    """Cancels steps whose time is up."""

    def __init__(self, limit_s: float, play: Play) -> None:
        """Makes the limit of one table.

        Args:
          limit_s: Longest time of any step.
          play: Answers a step.
        """
        self._limit_s = limit_s
        self._play = play
        self._deadlines = Deadlines(limit_s)

    async def in_time(self, request: StepRequest) -> StepReply:
        """Returns the answer to a step within the time that all steps have.

        Raises:
          DeadlineExceededError: The time is up.
        """
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("steps are answered in tasks")
        self._deadlines.begin(task, loop)
        try:
            reply = await self._play(request, self._deadlines)
        except asyncio.CancelledError as error:
            if self._deadlines.end(task):
                raise _late(request, self._limit_s) from error
            raise
        except BaseException:
            self._deadlines.end(task)
            raise
        self._deadlines.end(task)
        return reply

    async def in_less_time(self, request: StepRequest, limit_s: float) -> StepReply:
        """Returns the answer to a step within the time that its game core gives it.

        Raises:
          DeadlineExceededError: The time is up.
        """
        limit = asyncio.timeout(limit_s)
        step_time = StepTime(asyncio.get_running_loop().time() + limit_s)
        try:
            async with limit:
                return await self._play(request, limit)
        except TimeoutError as error:
            if limit.expired():
                raise _late(request, limit_s) from error
            raise
        finally:
            step_time.over()


def _late(request: StepRequest, limit_s: float) -> DeadlineExceededError:
    return DeadlineExceededError(f"{request.kind} of session {request.session!r} took longer than {limit_s:g} s")
