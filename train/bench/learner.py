"""``sparring bench learner``: samples a second of each strategy, next to the bare torch step in the same workers."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from deployments.port import free_port
from train.bench.cells import WINDOWS_MIN
from train.bench.learner_worker import LIMIT, STRATEGIES, WorkerPlan, written
from train.bench.machine import on_this_machine
from train.bench.service import BenchError
from train.bench.statistics import figure
from train.launch.stopping import Stopper

START_S: Final = 120.0
"""Longest start of the workers: the import of torch and DeepSpeed, on a busy machine."""
LOOK_S: Final = 0.2
"""Seconds between two looks whether the user has asked to stop."""
TAIL: Final = 2000
"""Characters of a worker's last words in an error."""
PREFIX: Final = "rates: "


@dataclass(frozen=True, slots=True)
class LearnerPlan:
    """What is measured."""

    windows: int = 5
    seconds: float = 2.0
    """Length of a window."""
    workers: Sequence[int] = (1, 2)
    rows: int = 1024
    """Rows of one worker's batch; four minibatches, four passes."""
    size_mb: float = 1.0
    """Size of the weights."""
    strategies: Sequence[str] = tuple(STRATEGIES)


def learner(plan: LearnerPlan, stopper: Stopper, say: Callable[[str], None]) -> dict[str, object]:
    """Returns the samples a second of each strategy.

    Args:
      plan: What is measured.
      stopper: Knows whether the user has asked to stop.
      say: Told what is measured next.

    Raises:
      BenchError: A worker fails; the message holds its last words.
      InterruptedLaunchError: The user has asked to stop.
    """
    return on_this_machine("learner", lambda: _measure(plan, stopper, say))


def _measure(plan: LearnerPlan, stopper: Stopper, say: Callable[[str], None]) -> dict[str, object]:
    result: dict[str, object] = {"rows": plan.rows, "mb": plan.size_mb, "limit": LIMIT}
    groups = []
    for workers in plan.workers:
        say(f"{workers} workers")
        told = WorkerPlan(workers, plan.windows, plan.seconds, plan.rows, plan.size_mb, tuple(plan.strategies))
        groups.append(told_rates(workers, rates_of(told, stopper)))
    return {**result, "workers": groups}


def told_rates(workers: int, rates: Mapping[str, Sequence[float]]) -> dict[str, object]:
    """Returns what the windows of one number of workers say, each strategy as a share of the limit."""
    limit = figure(rates[LIMIT])
    strategies = []
    for name in [name for name in rates if name != LIMIT]:
        found = figure(rates[name])
        strategies.append(
            {
                "strategy": name,
                "samples_per_s": found.as_dict(),
                "ratio": round(found.median / limit.median, 2),
                "measured": len(rates[name]) >= WINDOWS_MIN and found.measured and limit.measured,
            }
        )
    return {"workers": workers, "limit_samples_per_s": limit.as_dict(), "strategies": strategies}


def rates_of(plan: WorkerPlan, stopper: Stopper) -> dict[str, list[float]]:
    """Runs the workers and returns what they measure, by contender.

    Raises:
      BenchError: A worker fails or takes too long.
    """
    limit_s = START_S + 2 * (plan.seconds * plan.windows * (len(plan.strategies) + 1))
    with _workers(plan) as started:
        ended = []
        for process in started:
            out, error = _waited(process, limit_s, stopper)
            if process.returncode:
                raise BenchError(f"a worker of bench learner failed: {error[-TAIL:]}")
            ended.append(out)
    lines = [line for line in ended[0].splitlines() if line.startswith(PREFIX)]
    found: dict[str, list[float]] = json.loads(lines[-1].removeprefix(PREFIX))
    return found


def _waited(process: "subprocess.Popen[str]", limit_s: float, stopper: Stopper) -> tuple[str, str]:
    for _ in range(int(limit_s / LOOK_S)):
        stopper.check()
        try:
            return process.communicate(timeout=LOOK_S)
        except subprocess.TimeoutExpired:
            continue
    raise BenchError(f"a worker of bench learner has not ended within {limit_s:g} s")


@contextmanager
def _workers(plan: WorkerPlan) -> Iterator[list["subprocess.Popen[str]"]]:
    port = free_port()
    command = [sys.executable, "-m", "train.bench.learner_worker"]
    started = [
        subprocess.Popen(  # noqa: S603
            [*command, str(rank), str(port), written(plan)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for rank in range(plan.workers)
    ]
    try:
        yield started
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.wait()
