"""The thread in which one shadow answers; whatever it does, nobody waits for it for long."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from app.models.engine import Engine
from app.models.shadow import Sample, Shadow
from app.releases.statistics import ShadowStatistics
from app.types import Version

ANSWER_S: Final = 5.0
"""Longest wait for the answers to one call; they count as failed then."""


class ShadowLane:
    """Answers one call at a time; others that come meanwhile are dropped."""

    def __init__(self, version: Version, build: Callable[[], Engine], answer_s: float = ANSWER_S) -> None:
        """Makes a lane; the engine is built with the first call, in the thread.

        Args:
          version: Who answers.
          build: Returns its engine.
          answer_s: Longest wait for the answers to one call.
        """
        self.version = version
        self._build = build
        self._answer_s = answer_s
        self._shadow: Shadow | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"shadow {version}")
        self._running: asyncio.Future[ShadowStatistics] | None = None

    async def compare(self, samples: Sequence[Sample]) -> ShadowStatistics:
        """Returns how the shadow's answers compare with what was sent."""
        if self._running is not None and not self._running.done():
            return ShadowStatistics(dropped=len(samples))
        self._running = asyncio.get_running_loop().run_in_executor(self._pool, self._compare, samples)
        done, _ = await asyncio.wait([self._running], timeout=self._answer_s)
        if not done or self._running.exception() is not None:
            return ShadowStatistics(failed=len(samples))
        return self._running.result()

    def close(self) -> None:
        """Lets the thread end with what it is at."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _compare(self, samples: Sequence[Sample]) -> ShadowStatistics:
        if self._shadow is None:
            self._shadow = Shadow(self._build())
        return self._shadow.compare(samples)
