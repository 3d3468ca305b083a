"""Starts a TorchTrainer on the stream of a trial's buffer, and ends it."""

import threading
import uuid
from pathlib import Path

from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

from app.config.root import ExperimentConfig
from app.errors import CheckpointError, ConfigError, SparringError, TrainingError
from app.models.module import build_module, spec_of
from app.stores.trial import Trial
from train.checkpoint import Checkpoints
from train.data import NAME, OwnStreams, stream
from train.env import missing_env, spare_watcher
from train.loop import LoopArgs, run_worker


class TrainingRun:
    """One trainer from start to end, in a thread of its own."""

    def __init__(self, config: ExperimentConfig, trial: Trial, home: Path, *, resume: bool) -> None:
        """Prepares the trainer.

        Args:
          config: Config with the components of its mode.
          trial: Stores of the running service.
          home: State root that the service resolved.
          resume: Go on from the newest checkpoint.

        Raises:
          ConfigError: The config has no trainer.
          CheckpointError: There is nothing to resume from.
        """
        if not config.trainers:
            raise ConfigError("there is nothing to train: add a trainer under trainers")
        if len(config.trainers) > 1:
            raise ConfigError(f"one trainer runs at a time at present, got {', '.join(config.trainers)}")
        self.name = next(iter(config.trainers))
        self.run = uuid.uuid4().hex
        self.buffer = config.trainers[self.name].inputs[0].buffer
        self._config = config
        self._trial = trial
        self._folder = home / config.run.trial
        self._checkpoints = self._folder / "checkpoints"
        self._resume = resume
        if resume and Checkpoints(self._checkpoints, 1).newest() is None:
            raise CheckpointError(
                f"there is no checkpoint to resume from in {self._checkpoints}; train without --resume"
            )
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._fit, name="trainer", daemon=True)

    def start(self) -> None:
        """Starts to train."""
        self._trial.metrics.begin()
        self._thread.start()

    def stop(self) -> None:
        """Ends the stream; the trainer saves and returns."""
        self._trial.buffer(self.buffer).close()

    def running(self) -> bool:
        """Returns whether training goes on."""
        return self._thread.is_alive()

    def wait(self, timeout_s: float) -> None:
        """Waits for the end, however it comes."""
        self._thread.join(timeout_s)

    def join(self, timeout_s: float | None = None) -> bool:
        """Waits for the end and returns whether it came.

        Raises:
          TrainingError: Training failed; the message is the failed worker's.
        """
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            return False
        reason = self._trial.metrics.failure(self.run)
        if reason is not None:
            raise TrainingError(reason)
        if self._error is not None:
            kind = "" if isinstance(self._error, SparringError) else f"{type(self._error).__name__}: "
            raise TrainingError(f"training failed: {kind}{self._error}") from self._error
        return True

    def _fit(self) -> None:
        spare_watcher()
        try:
            self._trainer().fit()
        except Exception as error:  # noqa: BLE001  # Kept, and raised by ``join``.
            self._error = error

    def _trainer(self) -> TorchTrainer:
        trainer = self._config.trainers[self.name]
        model, wanted = self._config.models[trainer.model], trainer.inputs[0]
        spec = spec_of(build_module(model.factory, model.kwargs, self._config.run.seed))
        buffer = self._trial.buffer(wanted.buffer)
        streams = OwnStreams(lambda rank, group: stream(buffer, spec, wanted.batch_rows, rank, group))
        args = LoopArgs(self._config, self.name, self._trial.namespace, str(self._checkpoints), self._resume, self.run)
        resources = {"CPU": trainer.num_cpus} | ({"GPU": trainer.num_gpus} if trainer.num_gpus else {})
        return TorchTrainer(
            run_worker,
            train_loop_config={"args": args},
            scaling_config=ScalingConfig(
                num_workers=trainer.workers, use_gpu=trainer.num_gpus > 0, resources_per_worker=resources
            ),
            datasets={NAME: stream(buffer, spec, wanted.batch_rows, 0, "")},
            dataset_config=streams,
            run_config=RunConfig(  # type: ignore[call-arg]  # Its type is still that of the old API.
                name=self.run,
                storage_path=str(self._folder / "ray_train"),
                failure_config=FailureConfig(max_failures=trainer.max_restarts),
                worker_runtime_env={"env_vars": missing_env()} if missing_env() else None,
            ),
        )
