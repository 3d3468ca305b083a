"""What the ring does, as one place sees it: finished episodes and ticks of all replicas, updates of the trainer."""

import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from app.metrics.measures import Measures
from app.metrics.reports import ReplicaReport
from app.stores.host import StoreHandle
from app.types import Purpose

if TYPE_CHECKING:
    import ray

EPISODES_KEPT: Final = 10_000
"""Newest finished episodes of each purpose."""
REPLICAS_KEPT_S: Final = 60.0
"""Seconds for which a replica is shown that is no longer heard of; one that ends in order is forgotten at once."""
NONE: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType({})
"""No measures."""
UPDATES_KEPT: Final = 10_000
"""Newest updates; a reader that comes more seldom misses the oldest, and can tell from their numbers."""


class Episode(NamedTuple):
    """One finished episode."""

    purpose: Purpose
    returned: float
    ticks: int
    agent: str = ""
    """Agent of the config that played it."""


class Update(NamedTuple):
    """One update of a trainer."""

    number: int
    time_s: float
    metrics: Mapping[str, float]
    trainer: str = ""
    """Trainer of the config that made it."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The ring at one moment."""

    time_s: float
    ticks: int
    """Training ticks answered since the service started."""
    episodes: int
    """Finished training episodes."""
    mean_return: float | None
    """Mean over the newest training episodes; None until there are as many as asked for."""
    updates: int
    """Number of the newest update."""
    last: Mapping[str, float]
    """Metrics of the newest update; empty before the first."""
    live: bool
    """Whether every trainer has published since it began."""


class Heard(NamedTuple):
    """What a replica last said of itself."""

    report: ReplicaReport
    silent_s: float
    """Seconds since then."""


class Service(NamedTuple):
    """A trial's service as an operator sees it."""

    counts: Mapping[str, int]
    """Counters of all replicas that there ever were, since the store's start."""
    replicas: Sequence[Heard]
    measures: Mapping[str, Mapping[str, Any]]
    """What agents have measured, of all replicas that there ever were; see ``app.metrics.measures``."""


class MetricStore:
    """Adds up what replicas and trainers report."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._episodes: dict[Purpose, deque[Episode]] = {p: deque(maxlen=EPISODES_KEPT) for p in Purpose}
        self._updates: dict[str, deque[Update]] = {}
        """By trainer."""
        self._counts: Counter[str] = Counter()
        self._measures = Measures()
        self._failures: dict[str, str] = {}
        self._heard: dict[str, tuple[float, ReplicaReport]] = {}

    async def start(self) -> None:
        """Does nothing: this store only answers."""

    async def report(
        self, episodes: Sequence[Episode], counts: Mapping[str, int], measures: Mapping[str, Mapping[str, Any]] = NONE
    ) -> None:
        """Takes a replica's finished episodes, the growth of its counters and the measures since its last report."""
        for episode in episodes:
            self._episodes[episode.purpose].append(episode)
            self._counts[f"episodes_{episode.purpose}"] += 1
        self._counts.update(counts)
        self._measures.merge(Measures.parse(measures))

    async def hear(self, replica: ReplicaReport) -> None:
        """Takes what a replica says of itself."""
        self._heard[replica.replica] = (self._clock(), replica)

    async def forget(self, replica: str) -> None:
        """Forgets a replica that has ended."""
        self._heard.pop(replica, None)

    async def service(self) -> Service:
        """Returns the counters, and the replicas that were heard of not long ago."""
        now_s = self._clock()
        self._heard = {name: heard for name, heard in self._heard.items() if now_s - heard[0] <= REPLICAS_KEPT_S}
        heard = [Heard(report, now_s - at_s) for at_s, report in self._heard.values()]
        return Service(dict(self._counts), heard, self._measures.as_dict())

    async def update(self, update: Update) -> None:
        """Takes an update of a trainer."""
        if update.trainer not in self._updates:
            self._updates[update.trainer] = deque(maxlen=UPDATES_KEPT)
        self._updates[update.trainer].append(update)

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
          trainer: Whose updates are meant; None means the newest of any.
          agents: Whose episodes make the mean return; None means those of all.
        """
        played = [e for e in self._episodes[Purpose.TRAIN] if agents is None or e.agent in agents]
        newest = played[-games:]
        last = max(self._of(trainer), key=lambda update: update.time_s, default=Update(0, 0.0, {}))
        return Progress(
            time_s=time.time(),
            ticks=self._counts["ticks_train"],
            episodes=self._counts["episodes_train"],
            mean_return=sum(e.returned for e in newest) / games if len(newest) == games else None,
            updates=last.number,
            last=last.metrics,
            live=bool(self._updates) and all(self._updates.values()),
        )

    def _of(self, trainer: str | None) -> list[Update]:
        if trainer is not None:
            return list(self._updates.get(trainer, ()))
        return [update for updates in self._updates.values() for update in updates]


class Metrics:
    """What replicas, trainer and console ask of the metric store."""

    def __init__(self, handle: StoreHandle) -> None:
        self._handle = handle

    def report(
        self, episodes: Sequence[Episode], counts: Mapping[str, int], measures: Mapping[str, Mapping[str, Any]] = NONE
    ) -> "ray.ObjectRef[Any]":
        """Sends a replica's growth since its last report."""
        return self._handle.call("report", episodes, counts, dict(measures))

    def hear(self, replica: ReplicaReport) -> "ray.ObjectRef[Any]":
        """Sends what a replica says of itself."""
        return self._handle.call("hear", replica)

    def forget(self, replica: str) -> "ray.ObjectRef[Any]":
        """Takes a replica back that has ended."""
        return self._handle.call("forget", replica)

    def service(self, timeout_s: float = 30.0) -> Service:
        """Returns the counters, and the replicas that were heard of not long ago.

        Raises:
          ray.exceptions.RayError: The store does not answer in time.
        """
        return cast("Service", self._handle.get("service", timeout_s=timeout_s))

    def update(self, update: Update) -> "ray.ObjectRef[Any]":
        """Sends an update of a trainer."""
        return self._handle.call("update", update)

    def begin(self, trainer: str) -> None:
        """Forgets a trainer's updates of an earlier training run, and expects new ones."""
        self._handle.get("begin", trainer)

    def fail(self, run: str, reason: str) -> None:
        """Notes why a training run ended before its time."""
        self._handle.get("fail", run, reason)

    def failure(self, run: str) -> str | None:
        """Returns why a training run ended before its time; None where it did not."""
        return cast("str | None", self._handle.get("failure", run))

    def updates_after(self, number: int, trainer: str | None = None) -> list[Update]:
        """Returns the updates after a number, oldest first; None is those of all trainers, one after the other."""
        return cast("list[Update]", self._handle.get("updates_after", number, trainer))

    def returns(self, purpose: Purpose) -> list[float]:
        """Returns the returns of the newest episodes of a purpose."""
        return cast("list[float]", self._handle.get("returns", purpose))

    def totals(self) -> dict[str, int]:
        """Returns the counters of all replicas together, since the service started."""
        return cast("dict[str, int]", self._handle.get("totals"))

    def progress(self, games: int, trainer: str | None = None, agents: Collection[str] | None = None) -> Progress:
        """Returns the present state; see ``MetricStore``."""
        return cast("Progress", self._handle.get("progress", games, trainer, agents))
