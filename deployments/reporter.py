"""Tells the metric store what an actor replica did, a few times a second."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable

from ray.exceptions import RayError

from app.metrics.here import PROCESS
from app.metrics.registry import Registry
from app.metrics.reports import ReplicaReport
from app.stores.metrics_client import Metrics
from app.stores.metrics_values import Episode

EVERY_S = 0.1
"""Seconds between two reports: what the launcher needs to notice a solved game soon."""
HEARD_EVERY_S = 1.0
"""Seconds between two reports of the replica itself: what an operator looks at."""

_log = logging.getLogger(__name__)


class Reporter:
    """Collects finished episodes and counters, and sends their growth."""

    def __init__(self, metrics: Metrics, counts: Counter[str], registry: Registry = PROCESS) -> None:
        self._metrics = metrics
        self._counts = counts
        self._episodes: list[Episode] = []
        self._sent: Counter[str] = Counter()
        self._report: Callable[[], ReplicaReport] | None = None
        self._actor = ""
        """Of the config; empty before the replica is known."""
        self._registry = registry
        self._sending: asyncio.Task[None] | None = None
        """The newest report, done or not."""

    def speak_of(self, report: Callable[[], ReplicaReport]) -> None:
        """Sends, from now on, what the replica says of itself."""
        self._report, self._actor = report, report().actor

    def episode(self, episode: Episode) -> None:
        """Takes a finished episode."""
        self._episodes.append(episode)

    async def run(self) -> None:
        """Reports for as long as it runs."""
        heard_s = 0.0
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(EVERY_S)
            speaks = loop.time() - heard_s >= HEARD_EVERY_S
            await self.flush(measured=speaks)
            if speaks:
                heard_s = loop.time()
                await self._speak()

    def speak_now(self) -> None:
        """Sends what the replica says of itself without waiting; from any thread, also while the loop stands still."""
        if self._report is not None:
            self._metrics.hear(self._report())

    async def leave(self) -> None:
        """Sends what is left, and has the replica forgotten.

        Raises:
          ray.exceptions.RayError: The metric store is gone.
        """
        await self.flush()
        if self._report is not None:
            await self._metrics.forget(self._report().replica)

    async def flush(self, *, measured: bool = True) -> None:
        """Sends what has changed, and what was measured where that is wanted; what could not be sent is sent later.

        A report that is under way is waited for first, and outlives whoever waits for it: what the store has added up
        already would else be sent again.
        """
        if self._sending is not None:
            await asyncio.wait([self._sending])
        self._sending = asyncio.create_task(self._send(measured=measured))
        await asyncio.shield(self._sending)

    async def _send(self, *, measured: bool) -> None:
        if self._registry.dropped:
            self._counts["measures_dropped"] = self._registry.dropped
        now = Counter(self._counts)
        growth = now - self._sent
        episodes, self._episodes = self._episodes, []
        parts = self._registry.growth() if measured else []
        if not growth and not episodes and not parts:
            return
        try:
            await self._metrics.report(episodes, growth, parts, self._actor)
        except RayError as error:
            _log.warning("the metric store does not answer: %s", error)
            self._episodes = episodes + self._episodes
            self._registry.take_back(parts)
        else:
            self._sent = now

    async def _speak(self) -> None:
        if self._report is None:
            return
        try:
            await self._metrics.hear(self._report())
        except RayError as error:  # It restarts; the next report is as good as this one.
            _log.warning("the metric store does not answer: %s", error)
