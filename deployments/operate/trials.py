"""What runs on a cluster, as values: trials, their actors, and the Serve applications that belong to them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from app.stores.metrics_values import Heard
from app.stores.names import PREFIX
from deployments.operate.releases import summary_lines

STARTING: Final = frozenset({"NOT_STARTED", "DEPLOYING"})
"""Serve's words for an application that is on its way."""


@dataclass(frozen=True, slots=True)
class Application:
    """A Serve application."""

    name: str
    status: str
    """Serve's word for it, such as ``RUNNING``."""
    route: str | None
    """Its path on Serve's port."""
    namespace: str | None = None
    """Trial of the config that it was deployed with; None where that cannot be told."""


@dataclass(frozen=True, slots=True)
class TrialStatus:
    """One trial of one project; its namespace names both."""

    namespace: str
    mode: str | None = None
    """None where the stores do not answer."""
    ports: Mapping[str, int] = field(default_factory=dict)
    """Game port of each actor."""
    replicas: Sequence[Heard] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    """Counters of all replicas that there ever were."""
    weights: Mapping[str, str | None] = field(default_factory=dict)
    """Newest version of each model; None where nothing was published."""
    weights_age_s: Mapping[str, float | None] = field(default_factory=dict)
    """Seconds since the newest weights of each model came; None where nothing was published."""
    applications: Sequence[Application] = ()
    problem: str | None = None
    """Why something is missing above."""
    releases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """How each model stands that follows the registry."""

    @property
    def name(self) -> str:
        """``project.trial``."""
        return self.namespace.removeprefix(PREFIX)

    @property
    def sessions(self) -> int:
        """Open sessions of the replicas that were heard of."""
        return sum(sum(heard.report.sessions.values()) for heard in self.replicas)

    def as_dict(self) -> dict[str, Any]:
        """Returns the status as a JSON object."""
        project, _, trial = self.name.partition(".")
        replicas = [heard.report.as_dict() | {"silent_s": round(heard.silent_s, 1)} for heard in self.replicas]
        return {
            "project": project,
            "trial": trial,
            "namespace": self.namespace,
            "mode": self.mode,
            "applications": [{"name": a.name, "status": a.status, "route": a.route} for a in self.applications],
            "actors": {
                actor: {"port": port, "replicas": [found for found in replicas if found["actor"] == actor]}
                for actor, port in self.ports.items()
            },
            "sessions": self.sessions,
            "counts": dict(self.counts),
            "weights": dict(self.weights),
            "weights_age_s": {model: None if a is None else round(a, 1) for model, a in self.weights_age_s.items()},
            "releases": {model: dict(release) for model, release in self.releases.items()},
            "problem": self.problem,
        }


def namespaces_of(names: Iterable[str]) -> list[str]:
    """Returns those of some Ray namespaces that are trials, in order."""
    return sorted({name for name in names if name.startswith(PREFIX)})


def belonging(namespace: str, applications: Iterable[Application], replicas: Iterable[Heard]) -> list[Application]:
    """Returns the applications of a trial: those that its replicas name, and those whose config names the trial."""
    named = {heard.report.application for heard in replicas}
    return [
        application for application in applications if application.name in named or application.namespace == namespace
    ]


def problem_of(applications: Iterable[Application], reason: str) -> str:
    """Returns why the stores of a trial do not answer: of one that starts, that it does.

    Args:
      applications: The trial's.
      reason: Why they cannot be asked.
    """
    starting = [application.name for application in applications if application.status in STARTING]
    if starting:
        return f"application {', '.join(starting)} is being deployed; its stores do not answer yet"
    return f"its stores cannot be asked: {reason}"


def chosen(wanted: str | None, running: Sequence[str], *, everything: bool) -> list[str]:
    """Returns the namespaces of the trials that are to be stopped.

    Args:
      wanted: ``project.trial``, or None for the only one.
      running: Namespaces of the trials that run.
      everything: All of them.

    Raises:
      ValueError: None is named and several run, or a name and ``everything`` are given.
    """
    if wanted is not None and everything:
        raise ValueError(f"either name a trial or give --all, not both; got {wanted}")
    if wanted is not None:
        return [namespace for namespace in running if namespace == PREFIX + wanted.removeprefix(PREFIX)]
    if len(running) > 1 and not everything:
        names = ", ".join(namespace.removeprefix(PREFIX) for namespace in running)
        raise ValueError(f"{len(running)} trials run: {names}; name one, or give --all")
    return list(running)


def lines(trials: Sequence[TrialStatus]) -> list[str]:
    """Returns the trials as text: a line for each, and one below it for each replica."""
    return [line for trial in trials for line in _lines(trial)]


def _lines(trial: TrialStatus) -> Iterator[str]:
    applications = ", ".join(f"{a.name} ({a.status.lower()}, {a.route or 'no route'})" for a in trial.applications)
    parts = [trial.name, f"mode {trial.mode or 'unknown'}", f"application {applications or 'none'}"]
    parts += [f"{trial.sessions} sessions", f"weights {_weights(trial.weights, trial.weights_age_s) or 'none'}"]
    yield "  ".join(parts)
    if trial.problem:
        yield f"    {trial.problem}"
    for model, release in trial.releases.items():
        yield from (f"    {line}" for line in summary_lines(model, release))
    heard_of = {heard.report.actor for heard in trial.replicas}
    for actor, port in trial.ports.items():
        if actor not in heard_of:
            yield f"    {actor}:{port}  no replica was heard of"
    yield from (f"    {_line(heard)}" for heard in trial.replicas)


def _line(heard: Heard) -> str:
    report = heard.report
    ticks = sum(number for key, number in report.counts.items() if key.startswith("ticks_"))
    parts = [f"{report.actor}:{report.port}", f"replica {report.replica} on {report.host}", state_of(heard)]
    parts += [f"{sum(report.sessions.values())} sessions", f"{ticks} ticks"]
    return "  ".join([*parts, f"weights {_weights(report.versions)}"] if report.versions else parts)


SILENT_S = 5.0
"""A replica that has not been heard of for so long is shown as silent: it reports every second."""


def state_of(heard: Heard) -> str:
    """Returns what a replica does, in a word or two."""
    report = heard.report
    if heard.silent_s > SILENT_S:
        return f"silent for {heard.silent_s:.0f} s"
    if not report.healthy:
        return "failed"
    if report.stuck and not report.degraded:
        return f"{len(report.stuck)} stuck, the first: {report.stuck[0]}"
    return report.degraded or ("ready" if report.ready else "draining")


def _weights(versions: Mapping[str, str | None], ages_s: Mapping[str, float | None] = MappingProxyType({})) -> str:
    shown = []
    for model, version in versions.items():
        age_s = ages_s.get(model)
        shown.append(f"{model} {version or 'untrained'}" + ("" if age_s is None else f" ({age_s:.0f} s old)"))
    return ", ".join(shown)
