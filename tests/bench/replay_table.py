"""Measures a table of a million transitions: ``python -m tests.bench.replay_table``; prints JSON last."""

import json
import time
from collections.abc import Callable

import numpy as np

from app.replay.importance import importance_weights
from app.replay.limiters import MinSize
from app.replay.removers import RemoveLowestPriority, RemoveOldest
from app.replay.samplers import Prioritized, UniformSampler
from app.replay.selectors import Remover, Sampler
from app.replay.table import Table

ROWS, BATCH, LOOPS, REPEATS = 1_000_000, 256, 400, 5
COLUMNS = {
    "observation": (np.dtype(np.float32), (4,)),
    "next_observation": (np.dtype(np.float32), (4,)),
    "action": (np.dtype(np.int64), ()),
    "reward": (np.dtype(np.float32), ()),
    "discount": (np.dtype(np.float32), ()),
}


def full_table(sampler: Sampler, remover: Remover) -> Table:
    table = Table(
        COLUMNS,
        ROWS,
        sampler=sampler,
        remover=remover,
        limiter=MinSize(BATCH),
        largest_sample_rows=BATCH,
        rng=np.random.default_rng(0),
    )
    rng = np.random.default_rng(1)
    rows = {name: np.ones((ROWS, *shape), dtype) for name, (dtype, shape) in COLUMNS.items()}
    table.insert(rows, rng.random(ROWS))
    return table


def cpu_us(call: Callable[[], object], per_loop: int = 1) -> dict[str, float]:
    """Returns the CPU time of one call, in µs: median and inter-quartile range of the repeats."""
    figures = []
    for _ in range(REPEATS):
        start = time.process_time()
        for _ in range(LOOPS):
            call()
        figures.append((time.process_time() - start) / LOOPS / per_loop * 1e6)
    low, median, high = np.percentile(figures, [25, 50, 75])
    return {"median_us": round(float(median), 3), "iqr_us": round(float(high - low), 3)}


def measure(sampler: Sampler, remover: Remover) -> dict[str, dict[str, float]]:
    table = full_table(sampler, remover)
    rng = np.random.default_rng(2)
    priorities = [rng.random(BATCH) for _ in range(32)]
    new = {name: np.ones((BATCH, *shape), dtype) for name, (dtype, shape) in COLUMNS.items()}
    turn = iter(range(10**9))

    def sample_and_update() -> None:
        sample = table.sample(BATCH)
        if sample is None:
            raise ValueError("the table holds too few rows")
        importance_weights(sample.probabilities, sample.table_rows, 0.4)
        table.update(sample.keys, priorities[next(turn) % 32])

    return {
        "sample_256": cpu_us(lambda: table.sample(BATCH)),
        "sample_and_update_256": cpu_us(sample_and_update),
        "insert_one_of_256": cpu_us(lambda: table.insert(new), BATCH),
    }


if __name__ == "__main__":
    figures = {
        "prioritized, remove oldest": measure(Prioritized(0.6, 1e-6), RemoveOldest()),
        "prioritized, remove lowest": measure(Prioritized(0.6, 1e-6), RemoveLowestPriority()),
        "uniform, remove oldest": measure(UniformSampler(), RemoveOldest()),
    }
    print(json.dumps(figures, indent=1))  # noqa: T201
