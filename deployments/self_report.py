"""Puts together what a replica says of itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from app.metrics.reports import ReplicaReport
from deployments.watchdog import Watchdog


class Counted(Protocol):
    """The open sessions of a replica."""

    def by_purpose(self) -> dict[str, int]:
        """Returns how many sessions are open for each purpose."""


class Connections(Protocol):
    """The connections of the game port."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Returns how many there were of each kind, and what became of them."""

    def open_connections(self) -> int:
        """Returns how many are open."""


class Keys(Protocol):
    """The access keys."""

    def status(self) -> Mapping[str, object]:
        """Returns how many are loaded, and what keeps newer ones out; empty where nobody needs one."""

    def usage(self) -> Mapping[str, Mapping[str, int]]:
        """Returns what each key has done, by its name."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Where the parts of a report come from."""

    sessions: Counted
    counts: Mapping[str, int]
    versions: Callable[[], Mapping[str, str]]
    """Returns ``generation.number`` of each local model's weights."""
    weights_ages: Callable[[], Mapping[str, float | None]]
    """Returns the seconds since the newest weights of each model came; None before the first."""
    weights_taken: Callable[[], Mapping[str, float]]
    """Returns when each local model last took up new weights, in Unix seconds."""
    buffer_links: Callable[[], Mapping[str, int]]
    """Returns how many shards of each buffer the replica sends rows to."""
    port: Callable[[], Connections | None]
    """Returns the game port; None before it listens."""
    keys: Keys
    failed: Callable[[], bool]
    """Returns whether one of the replica's own tasks has ended."""
    draining: Callable[[], bool]
    watchdog: Watchdog | None = None
    games: Callable[[], int] = lambda: 0
    """Returns how many games have an open session."""
    stuck: Callable[[], Sequence[str]] = list
    """Returns the calls of blocking agents that nobody waits for any more."""
    releases: Callable[[], Mapping[str, Mapping[str, Any]]] = dict
    """Returns how each model that follows the registry stands."""


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

    def __call__(self) -> ReplicaReport:
        """Returns the report."""
        parts, watchdog, port = self._parts, self._parts.watchdog, self._parts.port()
        healthy = not parts.failed()
        return replace(
            self._identity,
            healthy=healthy,
            ready=healthy and not parts.draining(),
            degraded=None if watchdog is None else watchdog.degraded(),
            stuck=list(parts.stuck()),
            sessions=parts.sessions.by_purpose(),
            games=parts.games(),
            open_connections=0 if port is None else port.open_connections(),
            connections={} if port is None else dict(port.counts),
            keys=parts.keys.status(),
            usage=parts.keys.usage(),
            loop_lag_s=0.0 if watchdog is None else round(watchdog.state.lag_s, 6),
            loop_blocks=0 if watchdog is None else watchdog.state.blocks,
            counts=dict(parts.counts),
            versions=dict(parts.versions()),
            releases=parts.releases(),
            weights_age_s=dict(parts.weights_ages()),
            weights_taken_s=dict(parts.weights_taken()),
            buffer_links=dict(parts.buffer_links()),
        )
