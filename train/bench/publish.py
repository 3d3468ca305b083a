"""``sparring bench publish``: how soon new weights answer in two replicas, next to Ray's own put and get."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from train.bench.cells import WINDOWS_MIN
from train.bench.compiling import load_generator
from train.bench.generator import Load, Mode, Run, Window, run_load
from train.bench.machine import on_this_machine
from train.bench.published import Moments, Published, publishing
from train.bench.service import CARTPOLE_ANSWER, CARTPOLE_TICK
from train.bench.statistics import figure
from train.launch.stopping import Stopper

SIZES_MB: Final = (1, 100)
"""Weights that are published."""
REACH_MS_MAX: Final[Mapping[int, float]] = {1: 20.0, 100: 40.0}
"""Aim by size: from an object reference in the store to the last of two replicas."""
WHOLE_MS_MAX: Final = 150.0
"""Aim of the whole way, the copies into the object store included."""
ADDED_MS_MAX: Final = 5.0
"""Aim: what updates may add to the 99.9th percentile of a tick."""
UPDATES: Final = 100
"""Updates of the smallest weights in one window of ticks."""
CONNECTIONS: Final = 8


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """What is measured."""

    runs: int = 7
    """Publishes of each size, and plain puts."""
    windows: int = 5
    """Windows of ticks with updates, and as many without."""
    seconds: float = 5.0
    """Length of a window, over which its updates are spread."""
    sizes_mb: Sequence[int] = SIZES_MB
    ticks: bool = True
    """Whether ticks are measured."""


def publish(plan: PublishPlan, stopper: Stopper, say: Callable[[str], None]) -> dict[str, object]:
    """Returns what a publish takes, and what it does to ticks.

    Args:
      plan: What is measured.
      stopper: Knows whether the user has asked to stop.
      say: Told what is measured next.

    Raises:
      SparringError: A part cannot be measured; the message is that part's own.
      InterruptedLaunchError: The user has asked to stop.
    """
    return on_this_machine("publish", lambda: _measure(plan, stopper, say))


def _measure(plan: PublishPlan, stopper: Stopper, say: Callable[[str], None]) -> dict[str, object]:
    program = load_generator() if plan.ticks else None
    result: dict[str, object] = {"replicas": 2}
    say("starting the service")
    with publishing(plan.sizes_mb, stopper) as published:
        result["sizes"] = [_size(plan, published, size_mb, stopper, say) for size_mb in plan.sizes_mb]
        if program is not None:
            result["ticks"] = _ticks(plan, published, partial(run_load, program), stopper, say)
    return result


def _size(
    plan: PublishPlan, published: Published, size_mb: int, stopper: Stopper, say: Callable[[str], None]
) -> dict[str, object]:
    say(f"{size_mb} MiB")
    ours, plain = [], []
    for number in range(plan.runs + 1):
        stopper.check()
        found = published.publish(size_mb), published.put_and_get(size_mb)
        if number:  # The first of each pays for connections and pages that the others find.
            ours.append(found[0])
            plain.append(found[1])
    return told_publishes(size_mb, ours, plain)


def told_publishes(size_mb: int, ours: Sequence[Moments], plain: Sequence[Moments]) -> dict[str, object]:
    """Returns what publishes of one size say, next to plain puts and gets that were measured between them."""
    reach, whole = (figure([value(m) for m in ours]) for value in (Moments.reach_ms, Moments.whole_ms))
    limit_reach, limit = (figure([value(m) for m in plain]) for value in (Moments.reach_ms, Moments.whole_ms))
    return {
        "mb": size_mb,
        "reach_ms": reach.as_dict(),
        "whole_ms": whole.as_dict(),
        "limit": "ray.put, and ray.get by two plain actors",
        "limit_reach_ms": limit_reach.as_dict(),
        "limit_whole_ms": limit.as_dict(),
        "ratio": round(whole.median / limit.median, 2) if limit.median else None,
        "measured": min(len(ours), len(plain)) >= WINDOWS_MIN and whole.measured and limit.measured,
        "within": whole.median <= WHOLE_MS_MAX and reach.median <= REACH_MS_MAX.get(size_mb, WHOLE_MS_MAX),
    }


def _ticks(
    plan: PublishPlan, published: Published, run: Run, stopper: Stopper, say: Callable[[str], None]
) -> dict[str, object]:
    load = Load(
        Mode.HTTP, published.port, CONNECTIONS, seconds=plan.seconds, body=CARTPOLE_TICK, expect=CARTPOLE_ANSWER
    )
    without, during, taken = [], [], []
    for number in range(plan.windows):
        stopper.check()
        say(f"ticks, window {number + 1} of {plan.windows}")
        without.append(run(replace(load, prefix=f"without-{number}")))
        with published.updating(min(plan.sizes_mb), UPDATES, load.warmup_s, plan.seconds) as count:
            during.append(run(replace(load, prefix=f"during-{number}")))
        taken.append(count())
    return told_ticks(without, during, taken)


def told_ticks(without: Sequence[Window], during: Sequence[Window], updates: Sequence[int]) -> dict[str, object]:
    """Returns what windows of ticks without and with updates say; one with an error says that nothing was measured."""
    windows = (*without, *during)
    errors = sum(window.errors for window in windows)
    first = next((window.first_error for window in windows if window.errors), "")
    calm, busy = (figure([window.p999_ms for window in found]) for found in (without, during))
    return {
        "connections": CONNECTIONS,
        "updates": min(updates),
        "p999_without_ms": calm.as_dict(),
        "p999_with_ms": busy.as_dict(),
        "p50_without_ms": figure([window.p50_ms for window in without]).as_dict(),
        "p50_with_ms": figure([window.p50_ms for window in during]).as_dict(),
        "ticks_per_s_without": figure([window.ticks_per_s for window in without]).as_dict(),
        "ticks_per_s_with": figure([window.ticks_per_s for window in during]).as_dict(),
        "added_ms": round(busy.median - calm.median, 3),
        "within": busy.median <= calm.median + ADDED_MS_MAX,
        "measured": len(without) >= WINDOWS_MIN and not errors and calm.measured and busy.measured,
        "errors": errors,
        "first_error": first,
    }
