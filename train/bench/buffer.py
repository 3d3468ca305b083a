"""``sparring bench buffer``: from a push to a training step, next to the same way without Ray Data."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import ray

from app.replay.supply import WhenFull
from train.bench.buffer_actors import Counted
from train.bench.buffer_cases import ATARI, CARTPOLE, Case
from train.bench.buffer_table import prioritized_ms
from train.bench.buffered import START_TIMEOUT_S, Buffered, buffering, cpu_s_of_children
from train.bench.cells import WINDOWS_MIN
from train.bench.machine import on_this_machine
from train.bench.recorded import recorded
from train.bench.statistics import figure
from train.launch.stopping import Stopper

STREAM_CREDITS: Final = 8
"""Batches under way where only the rate counts; Ray Data moves several tickets at once then."""
LAG_CREDITS: Final = 2
STEP_S: Final = 0.05
"""Training step of the part that measures the age of batches."""
AGE_STEPS_MAX: Final = 1.2
"""Aim: age of a batch that is learned from, in training steps."""
WAIT_MS_MAX: Final = 2.0
"""Aim: what the learner waits for a batch."""
LAG_ROWS_PER_S: Final = 1.5 * CARTPOLE.batch_rows / STEP_S
"""Rate of the producer then: there is always another batch."""
PUSH_US_MAX: Final = 20.0
"""Aim: CPU time of a pushed row."""
TABLE_MS_MAX: Final = 0.5
"""Aim: sample and update of 256 items of a table of a million."""
PUSHES: Final = 60
PUSH_ROWS: Final = 256
"""Rows of a push as the config has it by default."""
WARMUP_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class BufferPlan:
    """What is measured."""

    windows: int = 5
    """Windows of each figure; below 5 nothing counts as measured."""
    seconds: float = 4.0
    """Length of a window."""
    rows: bool = True
    """Rows a second, streamed and plain."""
    lag: bool = True
    """Age of batches and waiting of the learner."""
    push: bool = True
    """CPU time of a push."""
    table: bool = True
    """Prioritized sampling."""
    recorder: bool = True
    """Episodes to files."""


@dataclass(frozen=True, slots=True)
class Window:
    """One window of a stream."""

    counted: Counted
    cpu_s: float
    """CPU time of all processes."""

    @property
    def rows_per_s(self) -> float:
        """Returns the rate."""
        return self.counted.rows / self.counted.seconds

    @property
    def cpu_us(self) -> float:
        """Returns the CPU microseconds of a row, in all processes."""
        return 1e6 * self.cpu_s / max(1, self.counted.rows)


def buffer(plan: BufferPlan, stopper: Stopper, say: Callable[[str], None]) -> dict[str, object]:
    """Returns how many rows get from a push to a training step, how old they are, and what the rest costs.

    Args:
      plan: What is measured.
      stopper: Knows whether the user has asked to stop.
      say: Told what is measured next.

    Raises:
      SparringError: A part cannot be measured; the message is that part's own.
      InterruptedLaunchError: The user has asked to stop.
    """
    return on_this_machine("buffer", lambda: _measure(plan, stopper, say))


def _measure(plan: BufferPlan, stopper: Stopper, say: Callable[[str], None]) -> dict[str, object]:
    result: dict[str, object] = {}
    if plan.table:
        say("prioritized table")
        result["prioritized"] = told_cost([prioritized_ms() for _ in range(plan.windows)], TABLE_MS_MAX, "ms")
    if plan.recorder:
        say("recorder")
        with tempfile.TemporaryDirectory(prefix="sparring-bench-") as folder:
            result["recorder"] = recorded(Path(folder) / "recordings", plan.windows)
    if not (plan.rows or plan.lag or plan.push):
        return result
    say("starting Ray")
    with buffering(stopper) as buffered:
        if plan.push:
            say("pushes")
            costs = [_push_us(buffered, stopper) for _ in range(plan.windows)]
            result["push"] = {"push_rows": PUSH_ROWS, **told_cost(costs, PUSH_US_MAX, "cpu_us_per_row")}
        if plan.lag:
            say("lag")
            windows = _windows(plan, buffered, stopper, _Stream(CARTPOLE, LAG_CREDITS, STEP_S, LAG_ROWS_PER_S))
            result["lag"] = told_lag(windows)
        if plan.rows:
            result["rows"] = [_rows(plan, buffered, stopper, case, say) for case in (CARTPOLE, ATARI)]
    return result


@dataclass(frozen=True, slots=True)
class _Stream:
    """One stream that is measured."""

    case: Case
    credits_batches: int = STREAM_CREDITS
    step_s: float = 0.0
    rows_per_s: float | None = None
    plain: bool = False


def _push_us(buffered: Buffered, stopper: Stopper) -> float:
    stopper.check()
    return buffered.push_cost_us(CARTPOLE, PUSHES, PUSH_ROWS)


def _rows(
    plan: BufferPlan, buffered: Buffered, stopper: Stopper, case: Case, say: Callable[[str], None]
) -> dict[str, object]:
    say(f"{case.name} rows through the stream")
    streamed = _windows(plan, buffered, stopper, _Stream(case))
    say(f"{case.name} rows without Ray Data")
    return told_rows(case, streamed, _windows(plan, buffered, stopper, _Stream(case, plain=True)))


def _windows(plan: BufferPlan, buffered: Buffered, stopper: Stopper, wanted: _Stream) -> list[Window]:
    paced = wanted.rows_per_s is not None
    settings = wanted.case.settings(WhenFull.DROP_OLDEST if paced else WhenFull.REFUSE, wanted.credits_batches)
    windows: list[Window] = []
    with buffered.learner(wanted.case, settings, plain=wanted.plain, rows_per_s=wanted.rows_per_s) as learner:
        ray.get(learner.window.remote(WARMUP_S, wanted.step_s), timeout=START_TIMEOUT_S)
        for _ in range(plan.windows):
            stopper.check()
            before_s = cpu_s_of_children()
            counted = ray.get(learner.window.remote(plan.seconds, wanted.step_s), timeout=START_TIMEOUT_S)
            windows.append(Window(counted, cpu_s_of_children() - before_s))
    return windows


def told_rows(case: Case, streamed: Sequence[Window], plain: Sequence[Window]) -> dict[str, object]:
    """Returns what windows of a stream say, next to those of the plain path."""
    rate, cpu = (figure([value(window) for window in streamed]) for value in (_rate, _cpu))
    limit, limit_cpu = (figure([value(window) for window in plain]) for value in (_rate, _cpu))
    return {
        "rows": case.name,
        "batch_rows": case.batch_rows,
        "push_rows": case.push_rows,
        "credits_batches": STREAM_CREDITS,
        "rows_per_s": rate.as_dict(),
        "mb_per_s": round(rate.median * case.row_bytes / 2**20, 1),
        "cpu_us_per_row": cpu.as_dict(),
        "limit": "the shard's actor, asked by the learner without Ray Data",
        "limit_rows_per_s": limit.as_dict(),
        "limit_cpu_us_per_row": limit_cpu.as_dict(),
        "ratio": round(rate.median / limit.median, 2) if limit.median else None,
        "target_rows_per_s": case.target_rows_per_s,
        "within": rate.median >= case.target_rows_per_s,
        "measured": min(len(streamed), len(plain)) >= WINDOWS_MIN and rate.measured and limit.measured,
    }


def told_lag(windows: Sequence[Window]) -> dict[str, object]:
    """Returns how old batches are when they are learned from, and how long the learner waits for one."""
    ages = figure([1e3 * float(np.median(window.counted.ages_s)) for window in windows])
    waits = figure([1e3 * float(np.median(window.counted.waits_s)) for window in windows])
    return {
        "credits_batches": LAG_CREDITS,
        "step_ms": 1e3 * STEP_S,
        "age_ms": ages.as_dict(),
        "age_steps": round(ages.median / (1e3 * STEP_S), 2),
        "wait_ms": waits.as_dict(),
        "within": ages.median <= AGE_STEPS_MAX * 1e3 * STEP_S and waits.median <= WAIT_MS_MAX,
        "measured": len(windows) >= WINDOWS_MIN and ages.measured,
    }


def told_cost(costs: Sequence[float], most: float, unit: str) -> dict[str, object]:
    """Returns what something costs, and whether it is as little as is wanted."""
    cost = figure(costs)
    return {
        unit: cost.as_dict(),
        f"target_{unit}": most,
        "within": cost.median <= most,
        "measured": len(costs) >= WINDOWS_MIN and cost.measured,
    }


def _rate(window: Window) -> float:
    return window.rows_per_s


def _cpu(window: Window) -> float:
    return window.cpu_us
