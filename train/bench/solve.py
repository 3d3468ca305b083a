"""``sparring bench solve``: from launch to evaluated over real HTTP, next to the same PPO in one process."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.config.active import active
from app.config.load import load
from app.errors import SparringError
from train.bench.statistics import figure
from train.in_process import Limit, PlainLoop

LAUNCH_TIMEOUT_S: Final = 900
IDLE_TIMEOUT_S: Final = 120
SETTLE_S: Final = 5.0
"""Seconds after which an idle Ray head has all its processes."""

_IDLE_HEAD: Final = """
import logging, time, ray
from train.launch.memory import pss_mib
ray.init(address="local", include_dashboard=True, log_to_driver=False, logging_level=logging.ERROR)
time.sleep({settle})
print(pss_mib())
ray.shutdown()
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One launch."""

    seed: int
    result: dict[str, float]
    limit: Limit
    cpu_s: float
    """CPU seconds of the launch and all its processes."""


def solve(
    config: Path, seeds: Sequence[int], overrides: Sequence[str], say: Callable[[str], None]
) -> dict[str, object]:
    """Returns what launches with these seeds came to, and the limit measured between them.

    Args:
      config: Config file with a launch section.
      seeds: One for each launch.
      overrides: Of the config.
      say: Told of each stage.

    Raises:
      SparringError: A launch failed.
    """
    say("the memory of an idle Ray")
    idle_mib = _idle_head_mib()
    runs = []
    for at, seed in enumerate(seeds):
        say(f"launch {at + 1} of {len(seeds)}, with seed {seed}, and then the same in one process")
        runs.append(_run(config, seed, overrides))
    seconds = figure([run.result["seconds_from_launch"] for run in runs])
    limit = figure([run.limit.seconds for run in runs])
    memory = figure([run.result["memory_mib"] - idle_mib for run in runs])
    return {
        "bench": "solve",
        "machine": f"{os.cpu_count()} cores",
        "config": str(config),
        "seeds": list(seeds),
        "solved": sum(bool(run.result["solved"]) for run in runs),
        "seconds_from_launch": seconds.as_dict(),
        "seconds_to_first_update": figure([r.result["seconds_to_first_update"] for r in runs]).as_dict(),
        "env_steps": figure([run.result["env_steps"] for run in runs]).as_dict(),
        "eval_mean_worst": min(run.result["eval_mean"] for run in runs),
        "served_eval_mean_worst": min(run.result["served_eval_mean"] for run in runs),
        "policy_lag_mean": figure([run.result["policy_lag_mean"] for run in runs]).as_dict(),
        "policy_lag_max": max(run.result["policy_lag_max"] for run in runs),
        "memory_mib_above_idle_head": memory.as_dict(),
        "idle_head_mib": round(idle_mib, 1),
        "cpu_us_per_env_step": figure([1e6 * run.cpu_s / run.result["env_steps"] for run in runs]).as_dict(),
        "limit": "the same PPO, network and game in one process, from its first step to the same mean return",
        "limit_seconds": limit.as_dict(),
        "limit_solved": sum(run.limit.solved for run in runs),
        "ratio": round(seconds.median / limit.median, 2),
    }


def _run(config: Path, seed: int, overrides: Sequence[str]) -> Run:
    sets = [word for item in (*overrides, f"run.seed={seed}") for word in ("--set", item)]
    command = [sys.executable, "-m", "app", "launch", "--config", str(config), *sets]
    before = os.times()
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(  # noqa: S603  # Our own command.
            command,
            stdout=subprocess.PIPE,
            text=True,
            timeout=LAUNCH_TIMEOUT_S,
            check=False,
            env=os.environ | {"SPARRING_HOME": home},
        )
    after = os.times()
    if done.returncode != 0:
        raise SparringError(f"the launch with seed {seed} ended with exit code {done.returncode}; its message is above")
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    loop = PlainLoop(active(load(config, [*overrides, f"run.seed={seed}"])))
    return Run(seed, json.loads(done.stdout.splitlines()[-1]), loop.run(LAUNCH_TIMEOUT_S), cpu_s)


def _idle_head_mib() -> float:
    """Returns the memory of a Ray head with dashboard that has nothing to do."""
    code = _IDLE_HEAD.format(settle=SETTLE_S)
    done = subprocess.run(  # noqa: S603  # Our own code.
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, timeout=IDLE_TIMEOUT_S, check=True
    )
    return float(done.stdout.splitlines()[-1])


def main_line(result: dict[str, object]) -> str:
    """Returns the JSON line that ends a benchmark."""
    return json.dumps(result | {"time": time.strftime("%Y-%m-%dT%H:%M:%S")})
