"""What replicas and trainers tell the metric store, and what it answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from app.metrics.reports import ReplicaReport
from app.types import Purpose


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
    """Number of the trainer's newest update; of all trainers', added up, where none is meant."""
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


class MetricAnswer(NamedTuple):
    """What became of a query."""

    series: list[dict[str, Any]]
    unknown: str | None = None
    """Why there is no such metric; None where there is."""
