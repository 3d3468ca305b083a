"""One cluster of two nodes for all tests."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from train.env import WORKER_ENV

from .network import missing

if TYPE_CHECKING:
    from .nodes import Nodes

COUNTING_AGENTS = str(Path(__file__).parents[1] / "ring")
RAY_ENV = {
    "RAY_AUTH_MODE": "disabled",  # Who can reach these networks is root here.
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.5",
}


@pytest.fixture(scope="session")
def nodes() -> Iterator["Nodes"]:
    lacks = missing()
    if lacks is not None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"tests of several nodes need {lacks}")
    with tempfile.TemporaryDirectory(prefix="sparring-nodes-", dir="/tmp") as folder:  # Sockets need short paths.
        before = dict(os.environ)
        os.environ.update(WORKER_ENV, **RAY_ENV, SPARRING_HOME=f"{folder}/home", PYTHONPATH=COUNTING_AGENTS)
        sys.path.append(COUNTING_AGENTS)
        from .nodes import two_nodes  # noqa: PLC0415  # Ray reads the environment above when it is imported.

        with two_nodes(Path(folder)) as made:
            yield made
        sys.path.remove(COUNTING_AGENTS)
        os.environ.clear()
        os.environ.update(before)
