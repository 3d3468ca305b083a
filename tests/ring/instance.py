"""A Ray instance of its own, with Serve on a port of its own, that leaves no process behind."""

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from deployments.port import free_port
from train.env import CLUSTER_ENV, WORKER_ENV

from .service import Cluster

STARTS = 3
"""Tries to start Ray."""
GONE_S = 60.0
"""Longest wait for Ray's processes to end."""


@contextmanager
def ray_instance(*modules: Path, home: Path | None = None) -> Iterator[Cluster]:
    """Runs Ray and Serve for as long as the block lasts.

    Args:
      modules: Folders of agents and networks that all processes find by name.
      home: ``SPARRING_HOME``; None takes a folder that is gone afterwards.
    """
    with tempfile.TemporaryDirectory(prefix="sparring-test-", dir="/tmp") as folder:  # Sockets need short paths.
        home, before = home or Path(folder) / "home", dict(os.environ)
        os.environ.update(WORKER_ENV | CLUSTER_ENV, SPARRING_HOME=str(home), RAY_TRAIN_HEALTH_CHECK_INTERVAL_S="0.5")
        os.environ["PYTHONPATH"] = os.pathsep.join(map(str, modules))
        sys.path += map(str, modules)
        import ray  # noqa: PLC0415  # It reads the environment above when it is imported.
        from ray import serve  # noqa: PLC0415

        _init(f"{folder}/ray")
        port = free_port()
        serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": port})
        children = psutil.Process().children(recursive=True)
        try:
            yield Cluster(f"http://127.0.0.1:{port}", home)
        finally:
            serve.shutdown()
            ray.shutdown()
            children += psutil.Process().children(recursive=True)
            _, alive = psutil.wait_procs(children, GONE_S)
            for module in modules:
                sys.path.remove(str(module))
            os.environ.clear()
            os.environ.update(before)
        assert not alive, f"Ray left processes behind: {alive}"


def _init(folder: str) -> None:
    """Starts Ray; its own limit of 30 s is too short for a machine that does much else, and no setting changes it."""
    import ray  # noqa: PLC0415  # As above.

    for tries_left in reversed(range(STARTS)):
        try:
            ray.init(
                address="local",
                num_cpus=4,
                include_dashboard=False,
                object_store_memory=512 * 2**20,
                log_to_driver=False,
                logging_level=logging.ERROR,
                _temp_dir=folder,
            )
        except Exception as error:  # Ray raises nothing narrower.
            if not tries_left or "timed out during startup" not in str(error):
                raise
            ray.shutdown()
        else:
            return
