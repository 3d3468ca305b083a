"""Whether a plan holds when it is played through."""

from dataclasses import dataclass
from typing import Final

from app.capacity.plan import Plan
from app.capacity.simulation.flow import FlowResult, simulate_flow
from app.capacity.simulation.ticks import TICKS, TickRun, simulate_ticks

DROPPED_MAX: Final = 0.01
"""Share of rows that a buffer may let go."""
STALE_MAX: Final = 0.05
"""Share of rows that may be too old to be learned from."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What the simulation says of a plan."""

    ticks: TickRun
    flow: FlowResult | None
    """None: nothing is learned."""
    problems: tuple[str, ...]
    """Why the plan does not hold; empty where it does."""


def check(plan: Plan, seed: int, ticks: int = TICKS) -> Checked:
    """Returns what the simulation of a plan says, the same for the same seed.

    Args:
      plan: The plan.
      seed: Of all that is drawn.
      ticks: Ticks that are simulated in all, about.
    """
    run = simulate_ticks(plan, seed, ticks=ticks)
    flow = None if plan.workload.learning is None else simulate_flow(plan, seed)
    return Checked(run, flow, (*_slow(plan, run), *_lost(plan, flow)))


def _slow(plan: Plan, run: TickRun) -> list[str]:
    wanted = plan.workload.latency_ms
    phases = {"": run.before, " after the loss of nodes": run.after}
    return [
        f"in the simulation 99 of 100 ticks are answered within {found.p99_ms:.3g} ms{when}; wanted are {wanted:g}"
        for when, found in phases.items()
        if found is not None and found.p99_ms > wanted
    ]


def _lost(plan: Plan, flow: FlowResult | None) -> list[str]:
    if flow is None or plan.workload.learning is None:
        return []
    problems = []
    if flow.dropped_share > DROPPED_MAX:
        problems.append(
            f"in the simulation {flow.dropped_share:.1%} of the rows are dropped by a full buffer; allowed are "
            f"{DROPPED_MAX:.0%}: faster learners, or fewer epochs"
        )
    if flow.stale_share > STALE_MAX:
        problems.append(
            f"in the simulation {flow.stale_share:.1%} of the rows are older than max_policy_lag "
            f"{plan.workload.learning.max_policy_lag}; allowed are {STALE_MAX:.0%}"
        )
    return problems
