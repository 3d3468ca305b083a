"""Tells the metric store what an actor replica did, a few times a second."""

import asyncio
import logging
from collections import Counter

from ray.exceptions import RayError

from app.stores.metrics import Episode, Metrics

EVERY_S = 0.1
"""Seconds between two reports: what the launcher needs to notice a solved game soon."""

_log = logging.getLogger(__name__)


class Reporter:
    """Collects finished episodes and counters, and sends their growth."""

    def __init__(self, metrics: Metrics, counts: Counter[str]) -> None:
        self._metrics = metrics
        self._counts = counts
        self._episodes: list[Episode] = []
        self._sent: Counter[str] = Counter()

    def episode(self, episode: Episode) -> None:
        """Takes a finished episode."""
        self._episodes.append(episode)

    async def run(self) -> None:
        """Reports for as long as it runs."""
        while True:
            await asyncio.sleep(EVERY_S)
            await self.flush()

    async def flush(self) -> None:
        """Sends what has changed; what could not be sent is sent the next time."""
        now = Counter(self._counts)
        growth = now - self._sent
        episodes, self._episodes = self._episodes, []
        if not growth and not episodes:
            return
        try:
            await self._metrics.report(episodes, growth)
        except RayError as error:
            _log.warning("the metric store does not answer: %s", error)
            self._episodes = episodes + self._episodes
        else:
            self._sent = now
