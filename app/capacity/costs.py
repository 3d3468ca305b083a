"""What one tick, decision, row and sample of a workload cost, out of measured figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from app.capacity.measured import BATCH_ROWS, Measured, PublishTime, TickCell
from app.capacity.workload import Learning, Model, Workload

_US: Final = 1e-6
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DecisionCost:
    """CPU seconds: a batch of B decisions takes ``call_s + B * row_s`` of the network, and ``each_s`` of each."""

    call_s: float = 0.0
    row_s: float = 0.0
    each_s: float = 0.0
    """Of each decision in the process that asks: question, check, drawing the action."""

    def batch_s(self, rows: int) -> float:
        """Returns the time of a batch, the part of the process that asks left out."""
        return self.call_s + rows * self.row_s

    def times(self, factor: float) -> "DecisionCost":
        """Returns a network that takes so many times as long."""
        return DecisionCost(self.call_s * factor, self.row_s * factor, self.each_s)


@dataclass(frozen=True, slots=True)
class TickCost:
    """CPU seconds of one tick in an actor replica, with all that it does for it."""

    busy_s: float
    """Where the replica is at work when it comes."""
    idle_s: float
    """Where the replica must be woken for it."""


@dataclass(frozen=True, slots=True)
class LearningCost:
    """What rows cost behind the actor replicas."""

    row_s: float
    """CPU seconds of a row on its way to the learner, in all processes but the one that pushes."""
    shard_rows_per_s: float
    """Rows a second that one shard hands to one learner."""
    worker_samples_per_s: float
    """Samples a second of one worker: a core, or a GPU."""
    publish_s: float
    """From a publish to the replicas."""


@dataclass(frozen=True, slots=True)
class Costs:
    """All that a plan is made of."""

    tick: TickCost
    decision: DecisionCost
    learning: LearningCost | None
    session_kib: float
    notes: tuple[str, ...]
    """What was assumed beside the figures."""

    def without_network(self) -> TickCost:
        """Returns the cost of a tick less that of a local network's batch of one."""
        alone_s = self.decision.batch_s(1)
        return TickCost(self.tick.busy_s - alone_s, self.tick.idle_s - alone_s)


def costs_of(measured: Measured, workload: Workload) -> Costs:
    """Returns what a workload costs.

    Raises:
      PlanError: A figure is missing; the message names the command that measures it.
    """
    notes: list[str] = [f"{name} has a spread above 30 %" for name in measured.unsteady]
    decision = _decision(measured, workload, notes)
    tick = _tick(measured, workload, notes)
    more = decision.each_s
    if workload.model.placement == "local":
        more += decision.batch_s(1)  # The dearest: where many wait, a batch is larger and a decision cheaper.
    learning = None
    if workload.learning is not None:
        more += workload.learning.share * measured.pushed() * _US
        learning = _learning(measured, workload.learning, workload.model.weights_mb)
    return Costs(
        TickCost(tick.busy_s + more, tick.idle_s + more),
        decision,
        learning,
        measured.session_memory_kib(),
        tuple(notes),
    )


def decision_of(measured: Measured, model: Model, notes: list[str]) -> DecisionCost:
    """Returns what decisions of a local or remote network cost.

    A batch of one and one of 32 rows tell what a call and what a row take. A remote model adds what its connections
    take: the time of the small network's decision there over that of its engine.

    Raises:
      PlanError: A figure is missing.
    """
    if model.decision_us is not None:
        engine = DecisionCost(row_s=model.decision_us * _US)
        notes.append(f"a decision takes {model.decision_us:g} µs in any batch, as given")
    else:
        engine = _engine(measured, model.name, notes)
    if model.placement == "local":
        return engine
    remote, small = measured.remote_model(), measured.decision("mlp")
    links_s = max(0.0, 1 / remote.per_s - small.batched_us * _US)
    rows = DecisionCost(engine.call_s, engine.row_s + links_s, remote.caller_us * _US)
    if model.gpu_decisions_per_s is None:
        return rows
    notes.append(f"a GPU answers {model.gpu_decisions_per_s:g} decisions a second, as given")
    return DecisionCost(0.0, 1 / model.gpu_decisions_per_s, rows.each_s)


def _decision(measured: Measured, workload: Workload, notes: list[str]) -> DecisionCost:
    if workload.model.name == "none" or (workload.model.name == "cartpole" and workload.model.decision_us is None):
        return DecisionCost()  # CartPole's ticks were measured with their decisions.
    return decision_of(measured, workload.model, notes)


def _engine(measured: Measured, name: str, notes: list[str]) -> DecisionCost:
    found = measured.decision(name)
    each_us = max(0.0, found.full_us - found.batched_us)
    if found.alone_us is None:
        notes.append(f"{name} was measured in batches of {BATCH_ROWS} alone: small batches may cost more")
        return DecisionCost(0.0, found.batched_us * _US, each_us * _US)
    call_us = max(0.0, (found.alone_us - found.batched_us) * BATCH_ROWS / (BATCH_ROWS - 1))
    return DecisionCost(call_us * _US, max(0.0, found.alone_us - call_us) * _US, each_us * _US)


def _tick(measured: Measured, workload: Workload, notes: list[str]) -> TickCost:
    if workload.model.name == "cartpole" and workload.model.decision_us is None:
        cells = measured.cartpole_of(workload.transport)
        notes.append("CartPole's ticks carry their own bodies: the size of bodies is not reckoned with")
    else:
        cells = measured.cells_of(workload.transport)
    few, many = min(c.connections for c in cells), max(c.connections for c in cells)
    if few == many or few > 1:
        notes.append("no tick was measured over one connection: a replica that must be woken may take longer")
    busy, idle = (_at_body(cells, count, workload.body_bytes) for count in (many, few))
    return TickCost(busy * _US, max(busy, idle) * _US)


def _at_body(cells: Sequence[TickCell], connections: int, body_bytes: int) -> float:
    points = [(c.body_bytes, c.cpu_us) for c in cells if c.connections == connections]
    return along([float(size) for size, _ in points], [us for _, us in points], body_bytes)


def _learning(measured: Measured, learning: Learning, weights_mb: float) -> LearningCost:
    cases = measured.row_cases()
    row_us = _of(cases, lambda case: case.row_bytes, lambda case: case.cpu_us, learning.row_bytes)
    row_time = _of(cases, lambda case: case.row_bytes, lambda case: 1 / case.rows_per_s, learning.row_bytes)
    if learning.gpu_samples_per_s is None:
        rate = measured.learner(learning.strategy, weights_mb)
        samples_per_s = rate.samples_per_s / rate.workers
    else:
        samples_per_s = learning.gpu_samples_per_s
    return LearningCost(
        row_s=max(0.0, row_us - measured.pushed()) * _US,
        shard_rows_per_s=1 / row_time,
        worker_samples_per_s=samples_per_s,
        publish_s=1e-3 * _of(measured.publish_times(), _size, lambda time: time.whole_ms, weights_mb),
    )


def _size(time: PublishTime) -> float:
    return time.size_mb


def _of(items: Sequence[T], size: Callable[[T], float], value: Callable[[T], float], at: float) -> float:
    return along([size(item) for item in items], [value(item) for item in items], at)


def along(sizes: Sequence[float], values: Sequence[float], at: float) -> float:
    """Returns a value between the measured ones; below and above them that of the nearest, or on the last line.

    Args:
      sizes: Where it was measured, in any order; at least one.
      values: What was measured there.
      at: Where it is wanted. Above the largest size the line through the two largest goes on; it never falls.
    """
    order = np.argsort(sizes)
    x, y = np.asarray(sizes, float)[order], np.asarray(values, float)[order]
    if len(x) == 1 or at <= x[-1]:
        return float(np.interp(at, x, y))
    slope = max(0.0, (y[-1] - y[-2]) / (x[-1] - x[-2]))
    return float(y[-1] + slope * (at - x[-1]))
