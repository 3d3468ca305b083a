"""What processes on the tests' machines find in their environment."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from train.env import CLUSTER_ENV, WORKER_ENV

COUNTING_AGENTS = str(Path(__file__).parents[1] / "ring")
RAY_ENV = {
    "RAY_AUTH_MODE": "disabled",  # Who can reach these networks is root here.
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.5",
}


@contextmanager
def environment(folder: Path) -> Iterator[None]:
    """Sets it for the block; Ray reads it when it is imported."""
    before = dict(os.environ)
    os.environ.update(WORKER_ENV | CLUSTER_ENV, **RAY_ENV, SPARRING_HOME=f"{folder}/home", PYTHONPATH=COUNTING_AGENTS)
    sys.path.append(COUNTING_AGENTS)
    try:
        yield
    finally:
        sys.path.remove(COUNTING_AGENTS)
        os.environ.clear()
        os.environ.update(before)
