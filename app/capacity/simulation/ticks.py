"""Ticks of sampled replicas, before and after nodes are lost.

What is aggregated: of the cluster's replicas only a few are simulated, each with all of its games. They do not touch
each other: every game lives in one replica, and the games are spread evenly. Lost nodes show as the games that reach a
replica beside its own.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import simpy

from app.capacity.plan import Plan
from app.capacity.simulation.load import GameSettings, game
from app.capacity.simulation.remote import Line, ModelReplica
from app.capacity.simulation.replica import Replica, Seen
from app.capacity.sizing import Demand

TICKS: Final = 60_000
"""Ticks that are simulated in all; more tell the 99th percentile no better than the figures deserve."""
SAMPLE: Final = 4
"""Replicas that are simulated at most, if no remote model asks for another number."""
WARM_SHARE: Final = 0.2
"""Of a phase, that does not count."""
NOTICED_S: Final = 1.0
"""From the loss of a node until its games go on elsewhere."""
DRAINS: Final = 1.5
"""Times as long as what has piled up takes to be worked off, until a phase behind it begins."""


@dataclass(frozen=True, slots=True)
class TickResult:
    """What replicas did in one phase."""

    ticks: int
    utilisation: float
    tick_us: float
    """CPU microseconds of a tick, the local network included."""
    waiting: float
    """Mean number of ticks that wait in a replica."""
    batch_rows: float
    """Mean rows of a batch; 0 without a model."""
    p50_ms: float
    p99_ms: float
    late_share: float
    """Ticks beyond the wanted latency."""


@dataclass(frozen=True, slots=True)
class TickRun:
    """Three phases."""

    replicas: int
    """That were simulated."""
    before: TickResult
    recovering: TickResult | None
    """While the games of lost nodes are taken up; None where no node is lost."""
    recovering_s: float
    """Length of that phase: the loss is noticed, games are taken up, and what has piled up is worked off."""
    after: TickResult | None


def simulate_ticks(plan: Plan, seed: int, ticks: int = TICKS) -> TickRun:
    """Returns what sampled replicas of a plan do.

    Args:
      plan: The plan.
      seed: Of phases and services.
      ticks: Simulated in all.
    """
    return _Run(plan, seed, ticks).run()


class _Run:
    def __init__(self, plan: Plan, seed: int, ticks: int) -> None:
        self._plan = plan
        self._rng = np.random.default_rng(seed)
        self._env = simpy.Environment()
        self._models: list[ModelReplica] = []
        workload, lost = plan.workload, plan.margins.lost_nodes
        games = max(1, round(workload.games * workload.sessions / plan.sized.replicas))
        self._more = round(games * lost / (plan.sized.nodes - lost))
        self._begin_s = max(NOTICED_S, 1 / workload.tick_hz)
        piled_s = self._more * plan.margins.recover_us * 1e-6
        self._recovering_s = self._begin_s + DRAINS * piled_s / (1 - min(0.95, plan.after_loss.utilisation))
        count = self._sample(ticks, games * workload.tick_hz)
        self._games = games
        self._phase_s = ticks / (3 * count * games * workload.tick_hz)
        self._replicas = self._built(count)

    def run(self) -> TickRun:
        """Returns the three phases."""
        workload, margins, count = self._plan.workload, self._plan.margins, len(self._replicas)
        settings = GameSettings(1 / workload.tick_hz, workload.think_ms / 1e3)
        self._join(self._games, settings, settings.period_s)
        before = self._phase(self._phase_s, WARM_SHARE)
        if not margins.lost_nodes:
            return TickRun(count, before, None, 0.0, None)
        recovered = GameSettings(settings.period_s, settings.think_s, margins.recover_us * 1e-6)
        self._join(self._more, recovered, self._begin_s)
        recovering = self._phase(self._recovering_s)
        return TickRun(count, before, recovering, self._recovering_s, self._phase(self._phase_s, WARM_SHARE))

    def _join(self, games: int, settings: GameSettings, within_s: float) -> None:
        for replica in self._replicas:
            for begins_s in self._rng.uniform(0, within_s, games):
                self._env.process(game(self._env, replica, settings, float(begins_s)))

    def _phase(self, length_s: float, warm_share: float = 0.0) -> TickResult:
        if warm_share:
            self._env.run(self._env.now + length_s * warm_share)
        for replica in self._replicas:
            replica.look()
        begun_s = self._env.now
        self._env.run(begun_s + length_s)
        seen = [replica.look() for replica in self._replicas]
        return _told(self._plan, seen, self._env.now - begun_s)

    def _sample(self, ticks: int, rate_per_s: float) -> int:
        """Returns how many replicas are simulated: fewer where taking games up lasts long."""
        models = models_of(self._plan)
        if models is None:
            most = int(ticks / (rate_per_s * self._recovering_s))
            return max(1, min(SAMPLE, self._plan.sized.replicas, most))
        return max(1, round(self._plan.sized.replicas / models.processes))

    def _built(self, count: int) -> list[Replica]:
        plan, env = self._plan, self._env
        model, costs, varied = plan.workload.model, plan.costs, plan.margins.variation
        models = models_of(plan)
        if models is None:
            # The tick's cost holds a batch of one; here batches form by themselves.
            local = costs.decision if costs.decision.batch_s(1) > 0 else None
            tick = costs.tick if local is None else costs.without_network()
            return [Replica(env, tick, self._rng, varied, local, model.max_rows) for _ in range(count)]
        share = plan.sized.replicas / models.processes / count
        answers = ModelReplica(env, costs.decision.times(share), model.max_rows)
        self._models.append(answers)
        found = []
        for _ in range(count):
            line = Line(env, answers, plan.machine.round_trip_ms / 1e3)
            line.replica = Replica(env, costs.tick, self._rng, varied, remote=line.ask)
            found.append(line.replica)
        return found


def models_of(plan: Plan) -> Demand | None:
    """Returns the remote models of a plan; None where there are none."""
    return next((demand for demand in plan.sized.demands if demand.name == "models"), None)


def _told(plan: Plan, seen: list[Seen], length_s: float) -> TickResult:
    answers = np.array([answer for one in seen for answer in one.answers_s]) + plan.machine.round_trip_ms / 1e3
    served, batches = sum(one.served for one in seen), sum(one.batches for one in seen)
    busy_s = sum(one.busy_s for one in seen)
    p50, p99 = (float(np.percentile(answers, q)) for q in (50, 99)) if len(answers) else (0.0, 0.0)
    return TickResult(
        ticks=len(answers),
        utilisation=busy_s / length_s / len(seen),
        tick_us=1e6 * busy_s / max(1, served),
        waiting=sum(one.waited_s for one in seen) / length_s / len(seen),
        batch_rows=served / batches if batches else 0.0,
        p50_ms=1e3 * p50,
        p99_ms=1e3 * p99,
        late_share=float(np.mean(answers > plan.workload.latency_ms / 1e3)) if len(answers) else 0.0,
    )
