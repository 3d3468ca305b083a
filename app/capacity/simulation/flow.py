"""The ring behind the replicas: pushes of every node, buffer, learner, weights, and the loss of nodes.

What is aggregated: the replicas of a node push together, so often that all nodes make ``PUSHES`` pushes in all; of
each push one row, drawn at random, tells the age of all of its rows. The shards of the buffer are one queue, and the
learner's workers one that is as fast as all.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import simpy

from app.capacity.costs import LearningCost
from app.capacity.plan import Plan
from app.capacity.simulation.ticks import NOTICED_S
from app.capacity.workload import Learning
from app.errors import PlanError

PUSHES: Final = 100_000
"""Pushes that are simulated in all, at most."""
TRAJECTORIES: Final = 4
"""Trajectories of a game that are simulated."""
UPDATES: Final = 50
"""Updates that are simulated, at least."""
WARM_SHARE: Final = 0.4
"""Of the time before the loss, that does not count: the first trajectories must end, and the buffer fill."""
Process = Generator[simpy.Event, Any, None]


@dataclass(frozen=True, slots=True)
class FlowResult:
    """What became of rows."""

    seconds: float
    """That were simulated."""
    updates_per_s: float
    learner_busy: float
    """Share of the time that the learner computes."""
    row_age_s: float
    """Mean age of a row when it is learned from."""
    lag_mean: float
    """The same in published versions."""
    lag_max: float
    dropped_share: float
    """Of rows that a full buffer lets go."""
    stale_share: float
    """Of rows that are older than ``max_policy_lag``."""
    lost_rows: float
    """With the nodes, in trajectories that had not ended."""
    starved_s: float
    """Longest wait of the learner for a batch."""


@dataclass(slots=True)
class _Seen:
    ages_s: list[float] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    """Rows that each age stands for."""
    pushed: float = 0.0
    dropped: float = 0.0
    busy_s: float = 0.0
    updates: int = 0
    starved_s: float = 0.0


def simulate_flow(plan: Plan, seed: int) -> FlowResult:
    """Returns what becomes of the rows of all nodes, some of which are lost in the middle.

    Raises:
      PlanError: The plan learns nothing.
    """
    learning, costs = plan.workload.learning, plan.costs.learning
    if learning is None or costs is None or plan.flow is None:
        raise PlanError("a plan without a learner has no rows to simulate")
    return _Flow(plan, learning, costs, plan.flow.workers, seed).run()


class _Flow:
    def __init__(self, plan: Plan, learning: Learning, costs: LearningCost, workers: int, seed: int) -> None:
        self._plan, self._learning, self._costs = plan, learning, costs
        self._rng = np.random.default_rng(seed)
        self._env = simpy.Environment()
        self._rate = plan.workload.rows_per_s
        self._nodes = plan.sized.nodes
        self._batch = float(learning.batch_rows * workers)
        self._update_s = learning.batch_rows * learning.epochs / costs.worker_samples_per_s
        self._trajectory_s = learning.unroll_ticks / plan.workload.tick_hz
        self._half_s = max(TRAJECTORIES * self._trajectory_s, UPDATES * self._batch / self._rate) / 2
        push_rows = self._rate / plan.sized.replicas
        often_s = min(learning.push_ms / 1e3, learning.push_rows / push_rows)
        self._every_s = max(often_s, 2 * self._half_s * self._nodes / PUSHES)
        self._held: deque[tuple[float, float]] = deque()
        """Rows and the time that they are from."""
        self._rows = 0.0
        self._capacity = self._batch + 2 * learning.push_rows * plan.sized.replicas / self._nodes
        self._come: simpy.Event | None = None
        self._credits = simpy.Store(self._env, capacity=learning.credits_batches)
        self._lost = 0
        self._active = [0.0]
        """When each version began to be played."""
        self._seen = _Seen()

    def run(self) -> FlowResult:
        """Returns what was seen."""
        for node in range(self._nodes):
            self._env.process(self._node(node))
        self._env.process(self._stream())
        self._env.process(self._learner())
        self._env.run((1 + WARM_SHARE) * self._trajectory_s + WARM_SHARE * self._half_s)
        self._seen = seen = _Seen()
        begun_s = self._env.now
        self._env.run(begun_s + self._half_s)
        self._lost = self._plan.margins.lost_nodes
        lost_rows = self._lost / self._nodes * self._rate * self._trajectory_s / 2
        self._env.run(begun_s + 2 * self._half_s)
        seconds = self._env.now - begun_s
        weights = np.array(seen.weights)
        lags = np.array(seen.lags)
        total = float(weights.sum())
        return FlowResult(
            seconds=seconds,
            updates_per_s=seen.updates / seconds,
            learner_busy=seen.busy_s / seconds,
            row_age_s=float(np.dot(seen.ages_s, weights)) / total if total else 0.0,
            lag_mean=float(np.dot(lags, weights)) / total if total else 0.0,
            lag_max=float(lags.max()) if total else 0.0,
            dropped_share=seen.dropped / seen.pushed if seen.pushed else 0.0,
            stale_share=float(weights[lags > self._learning.max_policy_lag].sum()) / total if total else 0.0,
            lost_rows=lost_rows,
            starved_s=seen.starved_s,
        )

    def _node(self, number: int) -> Process:
        """Pushes the rows of the trajectories that have ended since the last push."""
        began_s = float(self._rng.uniform(0, self._every_s))
        yield self._env.timeout(self._trajectory_s + began_s)
        back_s = 0.0
        share = 1.0
        while True:
            if number < self._lost:
                return
            if self._lost and not back_s:
                back_s = self._env.now + NOTICED_S + self._trajectory_s
            if back_s and self._env.now >= back_s:  # The games of lost nodes have ended a trajectory here.
                share = self._nodes / (self._nodes - self._lost)
            rows = self._rate / self._nodes * self._every_s * share
            self._push(rows, self._env.now - float(self._rng.uniform(0, self._trajectory_s)))
            yield self._env.timeout(self._every_s)

    def _push(self, rows: float, from_s: float) -> None:
        self._held.append((rows, from_s))
        self._rows += rows
        self._seen.pushed += rows
        while self._rows - self._held[0][0] >= max(self._capacity, self._batch):
            oldest, _ = self._held.popleft()
            self._rows -= oldest
            self._seen.dropped += oldest
        if self._come is not None and self._rows >= self._batch:
            self._come.succeed()
            self._come = None

    def _stream(self) -> Process:
        """Takes batches out of the buffer, as many ahead as there are credits."""
        while True:
            if self._rows < self._batch:
                self._come = self._env.event()
                yield self._come
            yield self._credits.put(self._taken())

    def _taken(self) -> list[tuple[float, float]]:
        taken, missing = [], self._batch
        while missing > 0 and self._held:
            rows, from_s = self._held.popleft()
            part = min(rows, missing)
            taken.append((part, from_s))
            missing -= part
            if part < rows:
                self._held.appendleft((rows - part, from_s))
        self._rows -= self._batch - missing
        return taken

    def _learner(self) -> Process:
        updates = publishes = 0
        while True:
            waited_s = self._env.now
            batch = yield self._credits.get()
            self._seen.starved_s = max(self._seen.starved_s, self._env.now - waited_s)
            for rows, from_s in batch:
                behind = publishes - max(0, bisect_right(self._active, from_s) - 1)
                self._seen.ages_s.append(self._env.now - from_s)
                self._seen.lags.append(float(behind))
                self._seen.weights.append(rows)
            yield self._env.timeout(self._update_s)
            self._seen.busy_s += self._update_s
            self._seen.updates += 1
            updates += 1
            if updates % self._learning.publish_every_updates == 0:
                publishes += 1
                self._active.append(self._env.now + self._costs.publish_s)
