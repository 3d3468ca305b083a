"""What a tracker has sent, as it stands in MLflow's sqlite file."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from train.tracking import Tracker

STEP_S = 0.005
"""A quick training step: what logging may take of it is 5 %."""


def until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"not true after {timeout_s} s"
        time.sleep(0.05)


def stored(root: Path, run_id: str) -> list[tuple[str, int, float]]:
    with closing(sqlite3.connect(root / "mlflow.db")) as connection:
        query = "select key, step, value from metrics where run_uuid = ? order by step, key"
        return connection.execute(query, (run_id,)).fetchall()


def log(tracker: Tracker, steps: range) -> float:
    """Logs one value a step and returns the seconds that this took in all."""
    start_s = time.perf_counter()
    for step in steps:
        tracker.log(step, {"x": float(step)}, time_s=1000.0 + step)
    return time.perf_counter() - start_s
