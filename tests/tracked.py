"""What a tracker has sent, as it stands in MLflow's sqlite file."""

import sqlite3
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from train.tracking import Tracker

STEP_S = 0.005
"""A quick training step: what logging may take of it is 5 %."""
WAITED_S = 0.5
"""Less than the time-out of a request to a server that is away."""


def until(condition: Callable[[], bool], timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"not true after {timeout_s} s"
        time.sleep(0.05)


def stored(root: Path, run_id: str) -> list[tuple[str, int, float]]:
    with closing(sqlite3.connect(root / "mlflow.db")) as connection:
        query = "select key, step, value from metrics where run_uuid = ? order by step, key"
        return connection.execute(query, (run_id,)).fetchall()


def log(tracker: Tracker, steps: range) -> list[float]:
    """Logs one value a step and returns the seconds that each took."""
    spent_s = []
    for step in steps:
        start_s = time.perf_counter()
        tracker.log(step, {"x": float(step)}, time_s=1000.0 + step)
        spent_s.append(time.perf_counter() - start_s)
    return spent_s


def assert_no_step_is_slowed(spent_s: list[float]) -> None:
    """A step that waited for a server would take as long as a request may; the machine alone may hold one up a bit."""
    assert statistics.median(spent_s) < 0.05 * STEP_S
    assert max(spent_s) < WAITED_S
