"""What a replica says of itself, and what a node's replicas say together."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

from app.metrics import names
from app.metrics.documents import merged, samples_of
from app.metrics.prometheus import Sample
from app.types import Version

REFUSED: Final = "refused_"
"""Begins the name of a key's refusals, before their reason."""


@dataclass(frozen=True, slots=True)
class ReplicaReport:
    """One replica at one moment; all its values are JSON."""

    replica: str
    actor: str
    application: str
    """Name of the Serve application that it belongs to; empty outside Serve."""
    host: str
    """Address of its node."""
    port: int
    """Its game port."""
    pid: int
    healthy: bool
    ready: bool
    degraded: str | None = None
    """What keeps its event loop from running; None while it runs."""
    stuck: Sequence[str] = field(default_factory=list)
    """Calls of blocking agents that run although nobody waits for them any more: which, for how long, and where."""
    sessions: Mapping[str, int] = field(default_factory=dict)
    """Open sessions by purpose."""
    games: int = 0
    """Games with an open session."""
    open_connections: int = 0
    connections: Mapping[str, int] = field(default_factory=dict)
    """How many connections there were of each kind, and what became of them."""
    keys: Mapping[str, object] = field(default_factory=dict)
    """Access keys that are loaded, and what keeps newer ones out; empty where nobody needs one."""
    usage: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """What each access key has done, by its name."""
    loop_lag_s: float = 0.0
    loop_blocks: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    """Counters since its start."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """``generation.number`` of each local model's weights."""
    weights_age_s: Mapping[str, float | None] = field(default_factory=dict)
    """Seconds since the newest weights of each model came; None before the first."""
    weights_taken_s: Mapping[str, float] = field(default_factory=dict)
    """Unix seconds at which each local model last took up new weights; none before the first."""
    releases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What each model plays that follows the registry, and what it does not play, with the reason."""
    buffer_links: Mapping[str, int] = field(default_factory=dict)
    """Shards of each buffer that the replica sends rows to."""
    series: Sequence[Mapping[str, Any]] = ()
    """What was measured since its start, where that is asked for; see ``app.metrics.documents``."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the report as a JSON object."""
        return asdict(self)

    @classmethod
    def parse(cls, value: Mapping[str, Any]) -> "ReplicaReport":
        """Returns the report that another replica has sent; fields of a newer one are passed over.

        Raises:
          ValueError: It is no report.
        """
        known = {item.name for item in fields(cls)}
        try:
            return cls(**{name: part for name, part in value.items() if name in known})
        except TypeError as error:
            raise ValueError(f"a report lacks a field: {error}") from error


@dataclass(frozen=True, slots=True)
class NodeReport:
    """Several replicas: those of one node, or of all."""

    replicas: Sequence[ReplicaReport]
    silent: Sequence[str] = ()
    """Replicas that did not answer in time."""

    def counts(self) -> Counter[str]:
        """Returns the sum of all counters; those of a replica that is gone are no longer in it."""
        return sum((Counter(report.counts) for report in self.replicas), Counter())

    def series(self) -> list[dict[str, Any]]:
        """Returns what all replicas have measured, counts and sums added up."""
        return merged(one for report in self.replicas for one in report.series)

    def as_dict(self) -> dict[str, Any]:
        """Returns the report as a JSON object."""
        return {
            "replicas": [report.as_dict() for report in self.replicas],
            "silent": list(self.silent),
            "sessions": sum(sum(report.sessions.values()) for report in self.replicas),
            "connections": sum(report.open_connections for report in self.replicas),
            "counts": dict(self.counts()),
            "series": self.series(),
        }

    def samples(self) -> list[Sample]:
        """Returns the node's metrics: each counter labelled by replica, so that a sum over them is the node's total."""
        found = [sample for report in self.replicas for sample in replica_samples(report)]
        found += [Sample(names.UP, {"replica": name}, 0) for name in self.silent]
        sessions = sum(sum(report.sessions.values()) for report in self.replicas)
        connections = sum(report.open_connections for report in self.replicas)
        return [
            *found,
            Sample(names.NODE_REPLICAS, {}, len(self.replicas) + len(self.silent)),
            Sample(names.NODE_SILENT, {}, len(self.silent)),
            Sample(names.NODE_SESSIONS, {}, sessions),
            Sample(names.NODE_CONNECTIONS, {}, connections),
        ]


def replica_samples(report: ReplicaReport) -> Iterable[Sample]:
    """Returns one replica's metrics."""
    own = {"replica": report.replica, "actor": report.actor}
    yield Sample(names.UP, {"replica": report.replica}, 1)
    yield Sample(names.READY, own, report.ready)
    yield Sample(names.DEGRADED, own, report.degraded is not None)
    yield Sample(names.LOOP_LAG, own, report.loop_lag_s)
    yield Sample(names.LOOP_BLOCKS, own, report.loop_blocks)
    yield Sample(names.STUCK, own, len(report.stuck))
    yield Sample(names.CONNECTIONS, own, report.open_connections)
    yield Sample(names.GAMES, own, report.games)
    for purpose, number in report.sessions.items():
        yield Sample(names.SESSIONS, own | {"purpose": purpose}, number)
    yield from _weights_samples(own, report)
    for buffer, links in report.buffer_links.items():
        yield Sample(names.BUFFER_LINKS, own | {"buffer": buffer}, links)
    for key, number in report.counts.items():
        metric, labels = names.counted(key)
        yield Sample(metric, own | labels, number)
    for series in report.series:
        yield from samples_of(series, own)
    for event, number in report.connections.items():
        yield Sample(names.CONNECTIONS_TOTAL, own | {"event": event}, number)
    for key, usage in report.usage.items():
        yield from _key_samples(own | {"key": key}, usage)


def _weights_samples(own: dict[str, str], report: ReplicaReport) -> Iterable[Sample]:
    """Returns which weights answer, and how old the newest of each model are; no age before the first."""
    for model, text in report.versions.items():
        version = Version.parse(text)
        yield Sample(names.WEIGHTS_GENERATION, own | {"model": model}, version.generation)
        yield Sample(names.WEIGHTS_NUMBER, own | {"model": model}, version.number)
    for model, age_s in report.weights_age_s.items():
        if age_s is not None:
            yield Sample(names.WEIGHTS_AGE, own | {"model": model}, age_s)


def _key_samples(own: Mapping[str, str], usage: Mapping[str, int]) -> Iterable[Sample]:
    """Returns what one access key has done."""
    for name, number in usage.items():
        if name.startswith(REFUSED):
            yield Sample(names.KEY_REFUSALS, {**own, "reason": name.removeprefix(REFUSED)}, number)
        elif name == "sessions":
            yield Sample(names.KEY_SESSIONS, own, number)
        else:
            yield Sample(names.KEY_STEPS, own, number)
