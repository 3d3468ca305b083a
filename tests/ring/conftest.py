"""One Ray instance, with Serve on a port of its own, for all tests of the ring."""

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from deployments.port import free_port
from train.env import WORKER_ENV

from .service import Cluster

GONE_S = 15.0
"""Longest wait for Ray's processes to end."""


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="sparring-test-", dir="/tmp") as folder:  # Sockets need short paths.
        home, before = Path(folder) / "home", dict(os.environ)
        os.environ.update(WORKER_ENV, SPARRING_HOME=str(home), RAY_TRAIN_HEALTH_CHECK_INTERVAL_S="0.5")
        os.environ["PYTHONPATH"] = here = str(Path(__file__).parent)  # For broken_models, in all processes.
        sys.path.append(here)
        import ray  # noqa: PLC0415  # It reads the environment above when it is imported.
        from ray import serve  # noqa: PLC0415

        ray.init(
            address="local",
            num_cpus=4,
            include_dashboard=False,
            object_store_memory=512 * 2**20,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _temp_dir=f"{folder}/ray",
        )
        port = free_port()
        serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": port})
        children = psutil.Process().children(recursive=True)
        yield Cluster(f"http://127.0.0.1:{port}", home)
        serve.shutdown()
        ray.shutdown()
        children += psutil.Process().children(recursive=True)
        _, alive = psutil.wait_procs(children, GONE_S)
        sys.path.remove(here)
        os.environ.clear()
        os.environ.update(before)
        assert not alive, f"Ray left processes behind: {alive}"
