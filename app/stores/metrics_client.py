"""The metric store of a running trial, as other processes ask it."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from app.errors import NotFoundError
from app.metrics.query import MetricQuery
from app.metrics.reports import ReplicaReport
from app.metrics.series import Part
from app.stores.host import StoreHandle
from app.stores.metrics_values import Episode, MetricAnswer, Progress, Service, Update
from app.types import Purpose

if TYPE_CHECKING:
    import ray


class Metrics:
    """What replicas, trainer and console ask of the metric store."""

    def __init__(self, handle: StoreHandle) -> None:
        self._handle = handle

    def report(
        self, episodes: Sequence[Episode], counts: Mapping[str, int], parts: Sequence[Part] = (), actor: str = ""
    ) -> "ray.ObjectRef[Any]":
        """Sends a replica's growth since its last report."""
        return self._handle.call("report", episodes, counts, list(parts), actor)

    def measure(self, parts: Sequence[Part]) -> "ray.ObjectRef[Any]":
        """Sends what another process has measured since its last report."""
        return self._handle.call("measure", list(parts))

    async def query(self, query: MetricQuery) -> list[dict[str, Any]]:
        """Returns the series that answer a query.

        Raises:
          NotFoundError: There is no such metric; the message names those that there are.
          ray.exceptions.RayError: The store does not answer.
        """
        return series_of(await self._handle.call("query", query))

    async def names(self) -> list[dict[str, Any]]:
        """Returns each metric with unit, kind, help and the names of its labels, as JSON objects."""
        return cast("list[dict[str, Any]]", await self._handle.call("metric_names"))

    async def of_trial(self) -> list[dict[str, Any]]:
        """Returns the series that no replica has: those of trainers, buffers, league and episodes, as JSON objects."""
        return cast("list[dict[str, Any]]", await self._handle.call("of_trial"))

    def query_now(self, query: MetricQuery, timeout_s: float = 30.0) -> list[dict[str, Any]]:
        """Returns what ``query`` does, for code without an event loop.

        Raises:
          NotFoundError: There is no such metric; the message names those that there are.
          ray.exceptions.RayError: The store does not answer in time.
        """
        return series_of(self._handle.get("query", query, timeout_s=timeout_s))

    def names_now(self, timeout_s: float = 30.0) -> list[dict[str, Any]]:
        """Returns what ``names`` does, for code without an event loop."""
        return cast("list[dict[str, Any]]", self._handle.get("metric_names", timeout_s=timeout_s))

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


def series_of(answer: MetricAnswer) -> list[dict[str, Any]]:
    """Returns the series of an answer.

    Raises:
      NotFoundError: There is no such metric.
    """
    if answer.unknown is not None:
        raise NotFoundError(answer.unknown)
    return answer.series
