"""What an evolution tells MLflow and TensorBoard."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from app.config.root import ExperimentConfig
from app.home import tensorboard_folder
from app.metrics.tensorboard import TensorBoardWriter
from app.stores.mlflow_connection import tracking_uri
from train.mlflow_run import RunStatus, TrackedTrial, git_commit
from train.tracking import Tracker
from train.unsent import UNSENT

CLOSE_TIMEOUT_S: Final = 60.0
"""Longest wait for MLflow to take what is left: a short run ends before a busy machine has imported it."""
HURRY_S: Final = 1.0
"""The same when the user has asked to stop."""


class Logs:
    """Writes metrics without ever waiting for the store, but for the end."""

    def __init__(self, config: ExperimentConfig, home: Path, now_s: float) -> None:
        """Checks the store; nothing is opened there yet.

        Args:
          config: Its values become the run's params.
          home: State root of the project.
          now_s: Unix time of the start.

        Raises:
          TrackingError: The store cannot be used, or TensorBoard's files cannot be written.
        """
        run = config.run
        tracked = TrackedTrial(run.project, run.trial, config.model_dump(mode="json"), git_commit(Path.cwd()))
        uri = tracking_uri(config.tracking.mlflow_uri, home)
        self._tracker = Tracker(uri, home, tracked, home / run.trial / UNSENT)
        self._tracker.check()
        folder = tensorboard_folder(home / run.trial, now_s)
        self._tensorboard = TensorBoardWriter(folder) if config.tracking.tensorboard else None
        self._begun = False

    def log(self, updates: int, metrics: Mapping[str, float]) -> None:
        """Takes metrics; the first ones open the MLflow run."""
        if not self._begun:
            self._begun = True
            self._tracker.start()
        now_s = time.time()
        self._tracker.log(updates, metrics, now_s)
        if self._tensorboard is not None:
            self._tensorboard.scalars(updates, metrics, now_s)

    def close(self, status: RunStatus) -> None:
        """Writes what is left and ends the run, where there is one."""
        if self._begun:
            self._tracker.close(status, HURRY_S if status == "KILLED" else CLOSE_TIMEOUT_S)
        if self._tensorboard is not None:
            self._tensorboard.close()
