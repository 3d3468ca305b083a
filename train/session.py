"""One training run with all that accompanies it: the trainer, its metrics, the champion at the end."""

import time
from pathlib import Path
from typing import Final

from app.config.root import ExperimentConfig
from app.errors import TrackingError
from app.metrics.tensorboard import TensorBoardWriter
from app.models.lineage import Clone
from app.stores.mlflow_store import ModelRegistry, tracking_uri
from app.stores.model_sources import ModelSources
from app.stores.trial import Trial
from app.types import Version
from train.mlflow_run import TrackedTrial, git_commit
from train.monitor import Monitor
from train.promote import Told, clone_version, promote
from train.run import TrainingRun
from train.tracking import Tracker

SAVE_TIMEOUT_S: Final = 3.0
"""Longest wait for the trainer's last checkpoint when all ends early."""
HURRY_S: Final = 1.0
"""Longest wait for the metrics then."""
CLOSE_TIMEOUT_S: Final = 20.0
"""Longest wait for the tracking store when all else is done."""


class TrainingSession:
    """What ``python -m train`` and the launcher have in common."""

    def __init__(self, config: ExperimentConfig, trial: Trial, home: Path, *, restore: str | None = None) -> None:
        """Checks what could fail late.

        Raises:
          ConfigError: There is nothing to train.
          CheckpointError: There is nothing to start from, or what is there is refused.
          TrackingError: The tracking store cannot be used.
        """
        self._config = config
        self.trial = trial
        self.training = TrainingRun(config, trial, home, restore=restore)
        self.uri = tracking_uri(config.tracking.mlflow_uri, home)
        tracked = TrackedTrial(
            config.run.project, config.run.trial, config.model_dump(mode="json"), git_commit(Path.cwd())
        )
        self._tracker = Tracker(self.uri, home, tracked)
        self._tracker.check()
        self._registry = ModelRegistry(self.uri, home)
        self._sources = ModelSources(config, home)
        self.tensorboard = home / config.run.trial / "tensorboard"
        writer = (
            TensorBoardWriter(self.tensorboard / time.strftime("%Y%m%d-%H%M%S"))
            if config.tracking.tensorboard
            else None
        )
        self._monitor = Monitor(trial.metrics, trial.buffer(self.training.buffer), self._tracker, writer)

    def start(self) -> None:
        """Starts to train."""
        self.training.start()
        self._monitor.start()

    def promote(self, version: Version, rating: float | None = None) -> int:
        """Registers weights as the champion and returns the number of the model version.

        Args:
          version: Which.
          rating: How strong they are, as a league says; None where nobody has rated them.

        Raises:
          TrackingError: MLflow does not take them.
        """
        self._monitor.track()
        model = self._config.trainers[self.training.name].model
        return promote(self._config, model, self.trial, self._told(version, rating), self._tracker, self._registry)

    def clone(self, version: Version, *, frozen: bool) -> Clone:
        """Sets weights apart as a clone of the trial.

        Raises:
          ModelMismatchError: The weights are no longer kept.
          CheckpointError: The clone cannot be written.
        """
        model = self._config.trainers[self.training.name].model
        return clone_version(self._config, model, self.trial, self._told(version), self._sources, frozen=frozen)

    def log_evaluation(self, mean_return: float, min_return: float) -> None:
        """Logs what evaluation games of the newest update returned."""
        step = self.trial.metrics.progress(1).updates
        self._tracker.log(step, {"eval_return_mean": mean_return, "eval_return_min": min_return}, time.time())

    def pin(self) -> Version:
        """Returns the newest published version and keeps its weights.

        Raises:
          TrackingError: Nothing was published, so there is nothing to play or to register.
        """
        model = self._config.trainers[self.training.name].model
        version = self.trial.weights(model).pin()
        if version is None:
            raise TrackingError(f"no weights of {model!r} were published; there is nothing to register")
        return version

    def abandon(self) -> None:
        """Ends in a hurry: a trainer under way saves, and an MLflow run that is open is closed as killed."""
        if self.training.running():
            self.training.stop()
            self.training.wait(SAVE_TIMEOUT_S)
        self._monitor.halt(HURRY_S)
        self._tracker.close("KILLED", HURRY_S)

    def close(self, *, succeeded: bool) -> None:
        """Writes what is left to MLflow and TensorBoard and ends the run."""
        self._monitor.close(CLOSE_TIMEOUT_S)
        self._tracker.close("FINISHED" if succeeded else "FAILED", CLOSE_TIMEOUT_S)

    def _told(self, version: Version, rating: float | None = None) -> Told:
        return Told(version, self.trial.metrics.progress(1).updates, self.training.parent, rating)
