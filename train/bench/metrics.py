"""``sparring bench metrics``: what measuring costs: a call, a merge, a scrape, and ticks with it and without."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from app.metrics.documents import document_of
from app.metrics.metric import Metric
from app.metrics.prometheus import exposition
from app.metrics.registry import Registry
from app.metrics.reports import NodeReport, ReplicaReport
from app.metrics.table import SeriesTable
from train.bench.cells import WINDOWS_MIN
from train.bench.machine import on_this_machine
from train.bench.measured_ticks import MeasuredTicks
from train.bench.statistics import Figure, figure
from train.launch.stopping import Stopper

CALL_NS_MAX: Final = 2_000
"""Aim: the longest call on the way of a tick."""
SCRAPE_S_MAX: Final = 1.0
"""Aim: the longest scrape of ``SERIES``."""
SERIES: Final = 10_000
"""Series of one endpoint."""
CALLS: Final = 100_000
"""Calls of one window."""
BETWEEN: Final = 10_000
"""Calls between two reports: those of a second of a busy replica, whose reduction counts as part of their cost."""
VALUES: Final = 200
"""Values of each series that is scraped: more than are kept as they are, so that it has a sketch."""
BUCKETS: Final = Metric("bench_seconds", "distribution", "s", "Of the benchmark.", (0.001, 0.01, 0.1, 1.0))


@dataclass(frozen=True, slots=True)
class MetricsPlan:
    """What is measured."""

    windows: int = 6
    """Of each measurement; three agents take all orders in six."""
    seconds: float = 2.0
    """Length of a window of ticks."""
    ticks: bool = True
    """Whether ticks are measured: it takes a service."""
    series: int = SERIES


def metrics(plan: MetricsPlan, stopper: Stopper, say: Callable[[str], None]) -> dict[str, object]:
    """Returns what measuring costs.

    Args:
      plan: What is measured.
      stopper: Knows whether the user has asked to stop.
      say: Told what is measured next.

    Raises:
      SparringError: The service cannot be started, or the load generator fails.
      InterruptedLaunchError: The user has asked to stop.
    """
    return on_this_machine("metrics", lambda: _measure(plan, stopper, say))


def _measure(plan: MetricsPlan, stopper: Stopper, say: Callable[[str], None]) -> dict[str, object]:
    say("calls")
    told: dict[str, object] = {"windows": plan.windows, "call": told_calls(plan.windows, stopper)}
    say(f"merge and scrape of {plan.series} series")
    told["merge_us_per_series"] = figure([merge_us(plan.series) for _ in range(plan.windows)]).as_dict()
    scrape = figure([scrape_s(plan.series) for _ in range(plan.windows)])
    told["scrape_s"] = scrape.as_dict()
    told["scrape_series"] = plan.series
    told["scrape_within"] = _measured(scrape) and scrape.median < SCRAPE_S_MAX
    if plan.ticks:
        told["ticks"] = MeasuredTicks(plan.windows, plan.seconds, stopper, say).measure()
    return told


def told_calls(windows: int, stopper: Stopper) -> dict[str, object]:
    """Returns what one call costs in nanoseconds, its share of the reduction included, next to appending to a list."""
    calls = {"bound_ns": _bound, "by_name_ns": _by_name, "with_labels_ns": _with_labels, "limit_ns": _limit}
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(windows):
        for name, call in calls.items():
            stopper.check()
            found[name].append(call())
    figures = {name: figure(values) for name, values in found.items()}
    slowest = max(figures.values(), key=lambda one: one.median)
    within = all(map(_measured, figures.values())) and slowest.median <= CALL_NS_MAX
    return {**{name: one.as_dict() for name, one in figures.items()}, "within": within}


def merge_us(series: int) -> float:
    """Returns the CPU microseconds that merging the growth of one series into the trial's takes."""
    growth, table = _filled(series).growth(), SeriesTable(series)
    table.merge(growth[:1], 0.0)
    begun_s = time.process_time()
    table.merge(growth, 0.0)
    return 1e6 * (time.process_time() - begun_s) / len(growth)


def scrape_s(series: int) -> float:
    """Returns the CPU seconds from a request to the text of so many series, half of them with buckets."""
    registry = _filled(series)
    registry.growth()  # As each second, whoever scrapes.
    begun_s = time.process_time()
    documents = registry.read(document_of)
    own = ReplicaReport("one", "main", "sparring", "127.0.0.1", 1, 1, healthy=True, ready=True, series=documents)
    exposition(NodeReport([own]).samples())
    return time.process_time() - begun_s


def _filled(series: int) -> Registry:
    registry = Registry(series)
    for number in range(series):
        one = registry.series("bench" if number % 2 else BUCKETS, number=str(number))
        for value in range(VALUES):
            one.add(value / VALUES)
    return registry


def _bound() -> float:
    registry = Registry()
    return _timed(registry.series(BUCKETS, part="agent").add, registry)


def _by_name() -> float:
    registry = Registry()
    record = registry.record
    return _timed(lambda value: record("damage", value), registry)


def _with_labels() -> float:
    registry = Registry()
    record = registry.record
    return _timed(lambda value: record("damage", value, weapon="axe", map="desert"), registry)


def _limit() -> float:
    values: list[float] = []
    return _timed(values.append, None)


def _timed(call: Callable[[float], None], registry: Registry | None) -> float:
    """Returns the CPU nanoseconds of a call."""
    begun_ns = time.process_time_ns()
    for _ in range(CALLS // BETWEEN):
        for number in range(BETWEEN):
            call(number * 1e-6)
        if registry is not None:
            registry.growth()
    return (time.process_time_ns() - begun_ns) / CALLS


def _measured(one: Figure) -> bool:
    return one.measured and one.runs >= WINDOWS_MIN
