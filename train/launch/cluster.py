"""Ray of this process: started by it, and ended with all that it started."""

import logging
import os
from collections.abc import Mapping
from typing import Final

import psutil

from app.errors import SparringError
from train.env import set_env

OBJECT_STORE_BYTES: Final = 512 * 2**20
"""Shared memory for weights and batches: much above what is ever under way."""
GONE_TIMEOUT_S: Final = 1.0
"""Longest wait for Ray's processes to end; then they are killed."""


class ClusterError(SparringError):
    """Ray cannot be started here."""


class Cluster:
    """A Ray cluster that lives no longer than this process."""

    def __init__(
        self, object_store_bytes: int = OBJECT_STORE_BYTES, resources: Mapping[str, float] | None = None
    ) -> None:
        """Keeps the numbers; nothing is imported or started.

        Args:
          object_store_bytes: Shared memory of Ray's object store.
          resources: Resources beside cores and memory; None adds none.
        """
        self.dashboard = "none"
        self._object_store_bytes = object_store_bytes
        self._resources = resources
        self._processes: list[psutil.Process] = []
        """Ray's own processes; those of tasks and actors are below them."""

    def start(self) -> None:
        """Starts Ray; its processes inherit the environment that the learner needs.

        Raises:
          ClusterError: This process already uses Ray, or Ray does not start.
        """
        set_env()
        # A thread that asks Ray for something after the end would else start a second cluster.
        os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"
        import ray  # noqa: PLC0415

        if ray.is_initialized():
            raise ClusterError("this process already uses Ray: close what runs, or call ray.shutdown() first")
        before = set(psutil.Process().children())
        try:
            context = ray.init(
                address="local",
                include_dashboard=True,
                object_store_memory=self._object_store_bytes,
                resources=dict(self._resources) if self._resources else None,
                logging_level=logging.ERROR,
                log_to_driver=False,
            )
        except Exception as error:  # Ray has no narrower one for a machine that is too busy.
            raise ClusterError(f"Ray did not start: {error}") from error
        finally:
            self._processes = [child for child in psutil.Process().children() if child not in before]
        self.dashboard = f"http://{context.dashboard_url}" if context.dashboard_url else "none"

    def close(self) -> None:
        """Ends Ray and every process that it started, and leaves all others of this process alone."""
        import ray  # noqa: PLC0415

        from app.stores.error_forwarder import end_watching  # noqa: PLC0415  # As above.

        end_watching()
        ours = [process for root in self._processes for process in (root, *_below(root))]
        if self._processes and ray.is_initialized():
            ray.shutdown()
        _, alive = psutil.wait_procs(ours, GONE_TIMEOUT_S)
        for process in alive:
            process.kill()
        psutil.wait_procs(alive, GONE_TIMEOUT_S)
        self._processes = []


def _below(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []
