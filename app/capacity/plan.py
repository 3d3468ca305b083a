"""A plan: nodes, cores, network, memory, cost, and whether it holds."""

import math
from dataclasses import dataclass
from typing import Final

from app.capacity.costs import Costs
from app.capacity.machine import Machine
from app.capacity.network import Traffic, traffic
from app.capacity.queueing import mean_service_s, mean_wait_s, utilisation, wait_quantile_s
from app.capacity.sizing import TYPICAL_ROWS, Sized, sized, workers_for
from app.capacity.workload import Learning, Margins, Workload

HOURS_A_MONTH: Final = 730.0
TAIL: Final = 0.99
"""Of ticks that the latency target is about."""
MINIBATCH_ROWS: Final = 256
"""Rows of an optimizer step, which is when learners exchange gradients."""


@dataclass(frozen=True, slots=True)
class Queue:
    """What is expected in one actor replica."""

    ticks_per_s: float
    utilisation: float
    tick_us: float
    """Mean CPU microseconds of a tick at that utilisation."""
    waiting: float
    """Mean number of ticks that wait, those in service left out."""
    p99_ms: float
    """Time within which 99 of 100 ticks are answered, network included."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What is expected behind the actor replicas."""

    workers: int
    updates_per_s: float
    publishes_per_s: float
    row_age_s: float
    """Mean age of a row when it is learned from."""
    lag: float
    """The same in published versions."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a workload takes."""

    workload: Workload
    machine: Machine
    margins: Margins
    costs: Costs
    sized: Sized
    traffic: Traffic
    queue: Queue
    after_loss: Queue
    """While nodes are lost."""
    flow: Flow | None
    """None: nothing is learned."""
    problems: tuple[str, ...]
    """Why the plan does not hold; empty where it does."""

    @property
    def price_per_hour(self) -> float:
        """Of all machines, in the machine's currency."""
        return self.sized.nodes * self.machine.price_per_hour

    @property
    def price_per_month(self) -> float:
        """Of 730 hours."""
        return HOURS_A_MONTH * self.price_per_hour

    @property
    def price_per_million_ticks(self) -> float:
        """Of a million ticks."""
        return 1e6 * self.price_per_hour / (3600 * self.workload.ticks_per_s)

    @property
    def node_gbit_s(self) -> float:
        """Gbit a second of one node, its fuller way."""
        shared = max(self.traffic.ticks_in, self.traffic.ticks_out) + self.traffic.decisions
        shared += self.traffic.rows + self.traffic.gradients
        return (shared / self.sized.nodes + self.traffic.weights_per_node) / 1e9


def plan_of(workload: Workload, costs: Costs, machine: Machine, margins: Margins) -> Plan:
    """Returns the plan of a workload.

    Raises:
      PlanError: No number of machines holds it.
    """
    flow = None if workload.learning is None else flow_of(workload, workload.learning, costs, margins)
    steps_per_s = 0.0
    if flow is not None and workload.learning is not None:
        learning = workload.learning
        steps_per_s = flow.updates_per_s * learning.epochs * max(1.0, learning.batch_rows / MINIBATCH_ROWS)
    moved = traffic(workload, flow.publishes_per_s if flow else 0.0, steps_per_s, flow.workers if flow else 1)
    found = sized(workload, costs, machine, margins, moved)
    left = found.replicas * (found.nodes - margins.lost_nodes) / found.nodes
    queue, after = (_queue(workload, costs, machine, margins, count) for count in (found.replicas, left))
    problems = (*_slow(workload, queue, after, margins), *_old(workload, costs, flow))
    return Plan(workload, machine, margins, costs, found, moved, queue, after, flow, problems)


def flow_of(workload: Workload, learning: Learning, costs: Costs, margins: Margins) -> Flow:
    """Returns updates, publishes and the age of rows.

    A row waits for the rest of its trajectory, half of it on average; for its push; and for its batch, half of the
    time in which one fills. Learners that keep up take a batch as soon as it is full, so that credits add nothing. New
    weights need the time of a publish until games are played by them.
    """
    workers = workers_for(workload, costs, margins)
    updates_per_s = workload.rows_per_s / (learning.batch_rows * workers)
    publishes_per_s = updates_per_s / learning.publish_every_updates
    trajectory_s = learning.unroll_ticks / workload.tick_hz / 2
    batch_s = 0.5 / updates_per_s
    publish_s = costs.learning.publish_s if costs.learning else 0.0
    age_s = trajectory_s + learning.push_ms / 1e3 / 2 + batch_s
    lag = (age_s + publish_s) * publishes_per_s
    return Flow(workers, updates_per_s, publishes_per_s, age_s, lag)


def _queue(workload: Workload, costs: Costs, machine: Machine, margins: Margins, replicas: float) -> Queue:
    rate, busy_s, idle_s = workload.ticks_per_s / replicas, costs.tick.busy_s, costs.tick.idle_s
    share = utilisation(rate, busy_s, idle_s)
    wait_s = mean_wait_s(rate, busy_s, idle_s, margins.variation)
    service_s = mean_service_s(share, busy_s, idle_s)
    answer_s = wait_quantile_s(TAIL, share, wait_s) + service_s + machine.round_trip_ms / 1e3
    if workload.model.placement == "remote" and workload.model.name != "none":
        # Its question may come behind a whole batch, and then waits for its own.
        answer_s += machine.round_trip_ms / 1e3 + 2 * costs.decision.batch_s(TYPICAL_ROWS)
    return Queue(rate, share, 1e6 * service_s, rate * wait_s, 1e3 * answer_s)


def _slow(workload: Workload, queue: Queue, after: Queue, margins: Margins) -> list[str]:
    problems = []
    for name, found in (("", queue), (f" while {margins.lost_nodes} nodes are lost", after)):
        if found.p99_ms > workload.latency_ms:
            problems.append(
                f"99 of 100 ticks are answered within {found.p99_ms:.3g} ms{name}; wanted are {workload.latency_ms:g}"
            )
    return problems


def _old(workload: Workload, costs: Costs, flow: Flow | None) -> list[str]:
    if flow is None or workload.learning is None or costs.learning is None:
        return []
    learning, problems = workload.learning, []
    most = 1 / costs.learning.publish_s
    if flow.publishes_per_s > most:
        every = math.ceil(learning.publish_every_updates * flow.publishes_per_s / most)
        problems.append(
            f"{flow.publishes_per_s:.3g} publishes a second are more than the {most:.3g} that one after the other "
            f"take; allowed is publish_every_updates from {every} on, or larger batch_rows"
        )
    if flow.lag > learning.max_policy_lag:
        problems.append(
            f"rows are {flow.lag:.3g} versions old when they are learned from, and those over max_policy_lag "
            f"{learning.max_policy_lag} are not; allowed are a larger max_policy_lag, shorter unroll_ticks, larger "
            "batch_rows or publish_every_updates"
        )
    return problems
