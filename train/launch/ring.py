"""A whole cluster of one command: Ray, the service and the trainer, started together and ended together."""

import logging
import os
import threading
from collections.abc import Callable
from typing import Final

import psutil

from train.env import WORKER_ENV

APP: Final = "sparring"
OBJECT_STORE_BYTES: Final = 512 * 2**20
"""Shared memory for weights and batches: much above what is ever under way."""
READY_TIMEOUT_S: Final = 120.0
"""Longest wait for Serve to start an application."""
SAVE_TIMEOUT_S: Final = 4.0
"""Longest wait for the trainer's last checkpoint when the launch ends early."""
GONE_TIMEOUT_S: Final = 3.0
"""Longest wait for our processes to end; then they are killed."""


class Background:
    """A thread whose failure is raised by who waits for it."""

    def __init__(self, work: Callable[[], None], name: str) -> None:
        self._work = work
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def done(self) -> bool:
        """Returns whether the work is done.

        Raises:
          Exception: What the work raised.
        """
        if self._thread.is_alive():
            return False
        if self._error is not None:
            raise self._error
        return True

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:  # noqa: BLE001  # Kept, and raised by ``done``.
            self._error = error


class Cluster:
    """A local Ray cluster that ends with this process."""

    def __init__(self) -> None:
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        self.dashboard = ""

    def start(self) -> None:
        """Starts Ray; its processes inherit the environment that the learner needs."""
        os.environ.update({name: value for name, value in WORKER_ENV.items() if name not in os.environ})
        import ray  # noqa: PLC0415  # It reads the environment above when it is imported.

        context = ray.init(
            address="local",
            include_dashboard=True,
            object_store_memory=OBJECT_STORE_BYTES,
            logging_level=logging.ERROR,
            log_to_driver=False,
        )
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        self.dashboard = f"http://{context.dashboard_url}" if context.dashboard_url else "none"

    def close(self) -> None:
        """Ends all processes that this one has started."""
        import ray  # noqa: PLC0415

        children = psutil.Process().children(recursive=True)
        if ray.is_initialized():
            ray.shutdown()
        _, alive = psutil.wait_procs(children, GONE_TIMEOUT_S)
        for process in alive:
            process.kill()
        psutil.wait_procs(alive, GONE_TIMEOUT_S)
