"""Tells the metric store what an actor replica did, a few times a second."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable

from ray.exceptions import RayError

from app.metrics.measures import Measures
from app.metrics.reports import ReplicaReport
from app.stores.metrics import Episode, Metrics

EVERY_S = 0.1
"""Seconds between two reports: what the launcher needs to notice a solved game soon."""
HEARD_EVERY_S = 1.0
"""Seconds between two reports of the replica itself: what an operator looks at."""

_log = logging.getLogger(__name__)


class Reporter:
    """Collects finished episodes and counters, and sends their growth."""

    def __init__(self, metrics: Metrics, counts: Counter[str]) -> None:
        self._metrics = metrics
        self._counts = counts
        self._episodes: list[Episode] = []
        self._sent: Counter[str] = Counter()
        self._report: Callable[[], ReplicaReport] | None = None
        self.measures = Measures()
        """What agents have measured since the replica's start."""
        self._unsent = Measures()
        self._sending: asyncio.Task[None] | None = None
        """The newest report, done or not."""

    def speak_of(self, report: Callable[[], ReplicaReport]) -> None:
        """Sends, from now on, what the replica says of itself."""
        self._report = report

    def episode(self, episode: Episode) -> None:
        """Takes a finished episode."""
        self._episodes.append(episode)

    def measure(self, name: str, value: float) -> None:
        """Takes a number that an agent has measured; what is wrong with it is logged once."""
        problem = self.measures.add(name, value)
        if problem is not None:
            _log.warning("%s", problem)
        self._unsent.add(name, value)
        if self.measures.dropped:
            self._counts["measures_dropped"] = self.measures.dropped

    async def run(self) -> None:
        """Reports for as long as it runs."""
        heard_s = 0.0
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(EVERY_S)
            await self.flush()
            if loop.time() - heard_s >= HEARD_EVERY_S:
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

    async def flush(self) -> None:
        """Sends what has changed; what could not be sent is sent the next time.

        A report that is under way is waited for first, and outlives whoever waits for it: what the store has added up
        already would else be sent again.
        """
        if self._sending is not None:
            await asyncio.wait([self._sending])
        self._sending = asyncio.create_task(self._send())
        await asyncio.shield(self._sending)

    async def _send(self) -> None:
        now = Counter(self._counts)
        growth = now - self._sent
        episodes, self._episodes = self._episodes, []
        measures, self._unsent = self._unsent, Measures()
        if not growth and not episodes and not measures:
            return
        try:
            await self._metrics.report(episodes, growth, measures.as_dict())
        except RayError as error:
            _log.warning("the metric store does not answer: %s", error)
            self._episodes = episodes + self._episodes
            measures.merge(self._unsent)
            self._unsent = measures
        else:
            self._sent = now

    async def _speak(self) -> None:
        if self._report is None:
            return
        try:
            await self._metrics.hear(self._report())
        except RayError as error:  # It restarts; the next report is as good as this one.
            _log.warning("the metric store does not answer: %s", error)
