"""What the ring does, as one place sees it: finished episodes and ticks of all replicas, updates of the trainer."""

import asyncio
import logging
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import ray

from app.errors import NotFoundError
from app.logs.tasks import told
from app.metrics import names
from app.metrics.documents import document_of
from app.metrics.metric import Metric, labels_of
from app.metrics.query import MetricQuery
from app.metrics.registry import SERIES_MAX
from app.metrics.reports import ReplicaReport, replica_samples
from app.metrics.series import Part
from app.metrics.table import TRAINER, SeriesTable
from app.stores.kept_metrics import KEPT, MetricsFile, Totals
from app.stores.metrics_values import Episode, Heard, MetricAnswer, Progress, Service, Update
from app.types import Purpose

EPISODES_KEPT: Final = 10_000
"""Newest finished episodes of each purpose."""
REPLICAS_KEPT_S: Final = 60.0
"""Seconds for which a replica is shown that is no longer heard of; one that ends in order is forgotten at once."""
UPDATES_KEPT: Final = 10_000
"""Newest updates; a reader that comes more seldom misses the oldest, and can tell from their numbers."""
SAVE_EVERY_S: Final = 2.0
"""Seconds between two writes: what a process that is killed may have counted in vain."""

_log = logging.getLogger(__name__)


class MetricStore:
    """Adds up what replicas and trainers report."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        unix_clock: Callable[[], float] = time.time,
        series_max: int = SERIES_MAX,
        file: str | None = None,
    ) -> None:
        """Makes a store that has added up nothing yet.

        Args:
          clock: Returns seconds that never go back.
          unix_clock: Returns Unix seconds.
          series_max: Most series.
          file: Where totals lie on disk, for the next process of this store; None keeps none.
        """
        self._clock = clock
        self._unix_clock = unix_clock
        self._episodes: dict[Purpose, deque[Episode]] = {p: deque(maxlen=EPISODES_KEPT) for p in Purpose}
        self._updates: dict[str, deque[Update]] = {}
        """By trainer."""
        self._counts: Counter[str] = Counter()
        self._series = SeriesTable(series_max)
        self._not_finite: set[tuple[str, str]] = set()
        """Trainers and names of metrics that were told of as not finite."""
        self._failures: dict[str, str] = {}
        self._heard: dict[str, tuple[float, ReplicaReport]] = {}
        self._file = None if file is None else MetricsFile(Path(file))
        self._saving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Goes on from the totals of a process that has ended, and keeps them on disk from now on."""
        if self._file is None:
            return
        if ray.get_runtime_context().was_current_actor_reconstructed:
            self.take_up(await asyncio.to_thread(self._file.load))
        self._saving = told(asyncio.get_running_loop().create_task(self._save_for_ever(self._file)))

    def take_up(self, totals: Totals | None) -> None:
        """Goes on from totals that an earlier process has kept; None is nothing."""
        if totals is None:
            return
        self._counts.update(totals.counts)
        self._failures.update(totals.failures)
        for episode in totals.episodes:
            self._episodes[episode.purpose].append(episode)
        for update in totals.updates:
            self._updates.setdefault(update.trainer, deque(maxlen=UPDATES_KEPT)).append(update)

    def totals_to_keep(self) -> Totals:
        """Returns what the next process goes on from."""
        episodes = [episode for played in self._episodes.values() for episode in list(played)[-KEPT:]]
        updates = [update for made in self._updates.values() for update in list(made)[-KEPT:]]
        return Totals(dict(self._counts), episodes, updates, dict(self._failures))

    async def report(
        self, episodes: Sequence[Episode], counts: Mapping[str, int], parts: Sequence[Part] = (), actor: str = ""
    ) -> None:
        """Takes what a replica did since its last report.

        Args:
          episodes: That have finished.
          counts: By how much its counters grew.
          parts: What else was measured.
          actor: Of the config, whose label series get; empty gives none.
        """
        now_s, own = self._unix_clock(), {"actor": actor} if actor else {}
        for episode in episodes:
            self._episodes[episode.purpose].append(episode)
            self._counts[f"episodes_{episode.purpose}"] += 1
            labels = {"purpose": str(episode.purpose), "agent": episode.agent}
            self._series.add(names.EPISODE_RETURN, labels, episode.returned, now_s, of_trial=True)
            self._series.add(names.EPISODE_TICKS, labels, episode.ticks, now_s, of_trial=True)
        self._counts.update(counts)
        self._series.play(self._counts["ticks_train"])
        for key, growth in counts.items():
            metric, labels = names.counted(key)
            self._series.add(metric, labels | own, growth, now_s)
        self._series.merge([_of_actor(part, own) for part in parts], now_s)

    async def measure(self, parts: Sequence[Part]) -> None:
        """Takes what a process without episodes has measured since its last report."""
        self._series.merge(parts, self._unix_clock(), of_trial=True)

    async def of_trial(self) -> list[dict[str, Any]]:
        """Returns the series that no replica has, as JSON objects, for Prometheus."""
        return [document_of(part) for part in self._series.of_trial()]

    async def query(self, query: MetricQuery) -> MetricAnswer:
        """Returns the series that answer a query."""
        try:
            return MetricAnswer(self._series.query(query, self._unix_clock()))
        except NotFoundError as error:  # As a value: an actor's error comes with its traceback as text.
            return MetricAnswer([], str(error))

    async def metric_names(self) -> list[dict[str, Any]]:
        """Returns each metric with unit, kind, help and the names of its labels."""
        return self._series.names()

    async def hear(self, replica: ReplicaReport) -> None:
        """Takes what a replica says of itself."""
        self._heard[replica.replica] = (self._clock(), replica)
        now_s = self._unix_clock()
        for sample in replica_samples(replica):
            if sample.metric.kind == "gauge":  # Its counters come as growth.
                self._series.add(sample.metric, sample.labels, sample.value, now_s)

    async def forget(self, replica: str) -> None:
        """Forgets a replica that has ended."""
        self._heard.pop(replica, None)
        self._series.forget("replica", replica)

    async def service(self) -> Service:
        """Returns the counters, and the replicas that were heard of not long ago."""
        now_s = self._clock()
        for name, (at_s, _) in list(self._heard.items()):
            if now_s - at_s > REPLICAS_KEPT_S:
                await self.forget(name)
        heard = [Heard(report, now_s - at_s) for at_s, report in self._heard.values()]
        return Service(dict(self._counts), heard)

    async def update(self, update: Update) -> None:
        """Takes an update of a trainer."""
        if update.trainer not in self._updates:
            self._updates[update.trainer] = deque(maxlen=UPDATES_KEPT)
        self._updates[update.trainer].append(update)
        self._series.advance(update.trainer, update.number)
        now_s = self._unix_clock()
        self._series.add(names.UPDATES, {TRAINER: update.trainer}, 1, now_s, of_trial=True)
        for name, value in update.metrics.items():
            self._series.add(_learned(name), {TRAINER: update.trainer}, value, now_s, of_trial=True)
            if not math.isfinite(value):
                self._tell_not_finite(update, name, value)

    async def begin(self, trainer: str) -> None:
        """Forgets a trainer's updates of an earlier training run, and expects new ones."""
        self._updates[trainer] = deque(maxlen=UPDATES_KEPT)

    async def fail(self, run: str, reason: str) -> None:
        """Notes why a training run ended before its time; the first reason counts."""
        self._failures.setdefault(run, reason)

    async def failure(self, run: str) -> str | None:
        """Returns why a training run ended before its time; None where it did not."""
        return self._failures.get(run)

    async def updates_after(self, number: int, trainer: str | None = None) -> list[Update]:
        """Returns the updates after a number, oldest first; None is those of all trainers, one after the other."""
        return [update for update in self._of(trainer) if update.number > number]

    async def returns(self, purpose: Purpose) -> list[float]:
        """Returns the returns of the newest episodes of a purpose, oldest first."""
        return [episode.returned for episode in self._episodes[purpose]]

    async def totals(self) -> dict[str, int]:
        """Returns the counters of all replicas together, since the service started."""
        return dict(self._counts)

    async def progress(self, games: int, trainer: str | None = None, agents: Collection[str] | None = None) -> Progress:
        """Returns the present state.

        Args:
          games: Newest training episodes that make the mean return.
          trainer: Whose updates are meant; None means those of all, and the newest of any.
          agents: Whose episodes make the mean return; None means those of all.
        """
        played = [e for e in self._episodes[Purpose.TRAIN] if agents is None or e.agent in agents]
        newest = played[-games:]
        newest_of = [made[-1] for name, made in self._updates.items() if made and trainer in (None, name)]
        last = max(newest_of, key=lambda update: update.time_s, default=Update(0, 0.0, {}))
        return Progress(
            time_s=time.time(),
            ticks=self._counts["ticks_train"],
            episodes=self._counts["episodes_train"],
            mean_return=sum(e.returned for e in newest) / games if len(newest) == games else None,
            updates=sum(update.number for update in newest_of),
            last=last.metrics,
            live=bool(self._updates) and all(self._updates.values()),
        )

    async def _save_for_ever(self, file: MetricsFile) -> None:
        saved: Totals | None = None
        while True:
            await asyncio.sleep(SAVE_EVERY_S)
            totals = self.totals_to_keep()
            if totals != saved:
                try:
                    await asyncio.to_thread(file.save, totals)
                except OSError as error:
                    _log.warning("totals are not on disk: %s", error)
                saved = totals

    def _tell_not_finite(self, update: Update, name: str, value: float) -> None:
        """Logs the first value of a name that is not finite; the series counts all."""
        if (update.trainer, name) not in self._not_finite:
            self._not_finite.add((update.trainer, name))
            _log.warning("%s of trainer %s is %s at update %d", name, update.trainer, value, update.number)

    def _of(self, trainer: str | None) -> list[Update]:
        if trainer is not None:
            return list(self._updates.get(trainer, ()))
        return [update for updates in self._updates.values() for update in updates]


def _of_actor(part: Part, own: Mapping[str, str]) -> Part:
    return part._replace(labels=labels_of({**dict(part.labels), **own})) if own else part


@cache
def _learned(name: str) -> Metric:
    """Returns the metric of what a trainer's updates tell under a name."""
    unit = "s" if name.endswith("_s") else "1"
    return Metric(names.LEARNED + name, "distribution", unit, f"{name} of a trainer's updates.")
