"""Puts together what a replica says of itself."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from app.metrics.reports import ReplicaReport, WeightsAges
from deployments.watchdog import Watchdog


class Counted(Protocol):
    """The open sessions of a replica."""

    def by_purpose(self) -> dict[str, int]:
        """Returns how many sessions are open for each purpose."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Where the parts of a report come from."""

    sessions: Counted
    counts: Mapping[str, int]
    versions: Callable[[], Mapping[str, str]]
    """Returns ``generation.number`` of each local model's weights."""
    connections: Callable[[], int]
    """Returns the open connections of the game port."""
    failed: Callable[[], bool]
    """Returns whether one of the replica's own tasks has ended."""
    draining: Callable[[], bool]
    watchdog: Watchdog | None = None


class SelfReport:
    """Returns the replica's report of the moment at which it is called."""

    def __init__(self, identity: ReplicaReport, parts: Parts) -> None:
        """Keeps the parts.

        Args:
          identity: A report whose names and addresses stay as they are.
          parts: Where the rest comes from.
        """
        self._identity = identity
        self._parts = parts
        self._ages = WeightsAges()

    def __call__(self) -> ReplicaReport:
        """Returns the report."""
        parts, watchdog = self._parts, self._parts.watchdog
        healthy = not parts.failed()
        versions = dict(parts.versions())
        return replace(
            self._identity,
            healthy=healthy,
            ready=healthy and not parts.draining(),
            degraded=None if watchdog is None else watchdog.degraded(),
            sessions=parts.sessions.by_purpose(),
            connections=parts.connections(),
            loop_lag_s=0.0 if watchdog is None else round(watchdog.state.lag_s, 6),
            loop_blocks=0 if watchdog is None else watchdog.state.blocks,
            counts=dict(parts.counts),
            versions=versions,
            weights_age_s=self._ages.look(versions, time.monotonic()),
        )
