"""What the planner predicts of one and of two nodes, beside replicas that run.

A node is a replica's process with its sockets, sessions and agents. Each window measures what ticks cost with one game
and with many, as ``sparring bench ticks`` does, and then plays an open-loop load of the same Poisson arrivals in
the replica and in the simulation, whose costs are the planner's of these two figures. Queues are in the time of the
replica's CPU clock, so that other work on the machine does not count.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import pytest
import simpy

from app.capacity.costs import TickCost, costs_of
from app.capacity.measured import Measured, TickCell
from app.capacity.queueing import rate_at
from app.capacity.simulation.replica import Process, Replica, Seen, Tick
from app.capacity.workload import Model, Workload
from tests.capacity import open_loop
from tests.capacity.open_loop import Observed, poisson, replica

PASSES = 50
"""Of a decision: some hundred microseconds, beside which the driver's own turns are short."""
SHARE = 0.4
"""Utilisation that the load is chosen for."""
TOGETHER = 4
"""Ticks at once of a replica that is at work: about as many as wait then."""
WINDOWS = 14
TICKS = 200
"""Of one window and replica."""
WITHIN = 0.3


@dataclass(frozen=True)
class Pair:
    """One window of one replica, measured and predicted."""

    seen: Observed
    predicted: Seen
    predicted_s: float

    @property
    def tick_ratio(self) -> float:
        return self.seen.tick_us / (1e6 * self.predicted.busy_s / self.predicted.served)

    @property
    def queue_ratio(self) -> float:
        return self.seen.in_system / (sum(self.predicted.answers_s) / self.predicted_s)


def cost_of(running: open_loop.Replica) -> tuple[TickCost, float]:
    """Returns what the planner makes of figures like those of the benchmark, and how they vary from tick to tick."""
    alone_us, together_us = running.closed(1, 60), running.closed(TOGETHER, 20)
    cells = tuple(
        TickCell("http", count, 64, float(np.mean(us))) for count, us in ((1, alone_us), (TOGETHER, together_us))
    )
    measured = Measured(cells=cells, session_kib=0)
    variation = float(np.var(alone_us) / np.mean(alone_us) ** 2)
    return costs_of(measured, Workload(1, 1, model=Model("none"))).tick, variation


def simulated(cost: TickCost, variation: float, arrivals_s: Sequence[float], seed: int) -> tuple[Seen, float]:
    """Returns what a simulated replica does with these arrivals, and how long it takes."""
    env = simpy.Environment()
    server = Replica(env, cost, np.random.default_rng(seed), variation)

    def arrive() -> Process:
        for arrival_s in arrivals_s:
            yield env.timeout(arrival_s - env.now)
            server.arrive(Tick(env.now))

    env.process(arrive())
    env.run()
    return server.look(), env.now


def windows(nodes: int) -> Iterator[Pair]:
    """Yields windows of the replicas of so many nodes, over which the games are spread by chance."""
    rng = np.random.default_rng(nodes)
    with ExitStack() as stack:
        running = [stack.enter_context(replica(PASSES)) for _ in range(nodes)]
        for one in running:
            cost_of(one)  # The first ticks make everything warm.
        for window in range(WINDOWS):
            costs = [cost_of(one) for one in running]
            rate = sum(rate_at(SHARE, cost.busy_s, cost.idle_s) for cost, _ in costs)
            arrivals_s = np.array(poisson(rate, TICKS * nodes, rng))
            chosen = rng.integers(0, nodes, len(arrivals_s))
            for number, one in enumerate(running):
                own = arrivals_s[chosen == number].tolist()
                seen = one.open(own)
                yield Pair(seen, *simulated(*costs[number], own, window))


@pytest.mark.e2e
@pytest.mark.parametrize("nodes", [1, pytest.param(2, marks=pytest.mark.long)])
def test_cpu_of_a_tick_and_length_of_the_queue_are_as_predicted(nodes: int) -> None:
    pairs = list(windows(nodes))
    tick, queue = (float(np.median([value(pair) for pair in pairs])) for value in (_tick_ratio, _queue_ratio))
    told = f"measured over predicted: CPU of a tick {tick:.2f}, ticks in the replica {queue:.2f}"

    assert 1 - WITHIN < tick < 1 + WITHIN, told
    assert 1 - WITHIN < queue < 1 + WITHIN, told


def _tick_ratio(pair: Pair) -> float:
    return pair.tick_ratio


def _queue_ratio(pair: Pair) -> float:
    return pair.queue_ratio
