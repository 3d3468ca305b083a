"""Many questions, one call: what waits while a call is under way goes with the next."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from ray.exceptions import RayError

from app.errors import OverloadedError

PATIENCE_S = 2.0
"""Longest wait for an answer of the directory; then whoever asked is told to come back."""
PAUSE_S = 0.1
"""Pause before a directory that is away is asked again."""
WAITING_MAX = 10_000
"""Questions that may wait: as many as a replica may have games."""

_Question = TypeVar("_Question")
_Answer = TypeVar("_Answer")


class Batched(Generic[_Question, _Answer]):
    """Asks with one call at a time, however many wait."""

    def __init__(self, ask: Callable[[list[_Question]], Awaitable[Sequence[_Answer]]]) -> None:
        self._ask = ask
        self._waiting: list[tuple[_Question, asyncio.Future[_Answer]]] = []
        self._pump: asyncio.Task[None] | None = None

    async def ask(self, question: _Question) -> _Answer:
        """Returns the answer to one question.

        Raises:
          OverloadedError: There was none in time.
        """
        if len(self._waiting) >= WAITING_MAX:
            raise OverloadedError(f"{WAITING_MAX} questions already wait for the directory")
        answer: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, answer))
        if self._pump is None or self._pump.done():
            self._pump = asyncio.get_running_loop().create_task(self._answer_all())
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await answer
        except TimeoutError as error:
            raise OverloadedError(f"the directory of games did not answer within {PATIENCE_S:g} s") from error

    async def _answer_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            batch = [(question, answer) for question, answer in batch if not answer.done()]
            if not batch:
                continue
            try:
                async with asyncio.timeout(PATIENCE_S):
                    answers = await self._ask([question for question, _ in batch])
            except (RayError, TimeoutError):  # Its process restarts.
                self._waiting = batch + self._waiting
                await asyncio.sleep(PAUSE_S)
                continue
            for (_, waiter), answer in zip(batch, answers, strict=True):
                if not waiter.done():
                    waiter.set_result(answer)
