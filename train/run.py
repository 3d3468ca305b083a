"""Starts a TorchTrainer on the stream of its input, and ends it."""

import threading
import time
import uuid
from pathlib import Path

from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from ray.train.v2.api.config import ScalingConfig as ElasticScaling

from app.config.root import ExperimentConfig
from app.config.strategies import ElasticWorkers
from app.config.training import TrainerConfig
from app.errors import SparringError, TrainingError
from app.model_check import trained_spec
from app.sources.opening import located
from app.stores.trial import Trial
from train.adversaries import check_adversaries
from train.beginning import move_aside, plan
from train.ending import AGAIN_S, Ending
from train.env import missing_env, spare_watcher
from train.inputs import open_input
from train.loop import run_worker
from train.loop_args import LoopArgs
from train.network import NodeNetwork
from train.own_streams import OwnStreams
from train.saving import SavingArgs
from train.teachers import find_teachers


class TrainingRun:
    """One trainer from start to end, in a thread of its own."""

    def __init__(
        self, config: ExperimentConfig, trainer: str, trial: Trial, home: Path, *, restore: str | None = None
    ) -> None:
        """Prepares the trainer.

        Args:
          config: Config with the components of its mode.
          trainer: Its name in the config.
          trial: Stores of the running service.
          home: State root that the service resolved.
          restore: What to start from: ``latest``, a number of updates, or the name of a model; None does as the
            config says.

        Raises:
          ConfigError: It cannot train its model.
          CheckpointError: There is nothing to start from, or what is there is refused; or there is no such teacher.
          TrackingError: The config names a registered version that MLflow does not have.
          SourceError: What it learns from cannot be read, or does not fit the model.
        """
        self.name = trainer
        self.model = config.trainers[trainer].model
        self.run = uuid.uuid4().hex
        spec, inputs = trained_spec(config, trainer), config.trainers[trainer].inputs
        self.inputs = tuple(open_input(config, trainer, at, trial, spec) for at in range(len(inputs)))
        for wanted in self.inputs:
            wanted.check()
        self._ending = Ending(self.inputs)
        check_adversaries(config, config.trainers[trainer], spec)
        self._config = located(config, Path.cwd())  # Workers run in other folders.
        self._trial = trial
        self._folder = home / config.run.trial
        self._plan = plan(config, self.name, home, restore)
        self._teachers = find_teachers(config, trainer, home, spec)
        self.parent = None if self._plan.beginning is None else _named(self._plan.beginning.folder, home)
        """What the first weights came from, below the state root; None where they are drawn from the seed."""
        self._error: Exception | None = None
        self._begun_s = time.time()
        self._stopped: str | None = None
        """What an alarm of a replica has ended training for."""
        self._thread = threading.Thread(target=self._fit, name=f"trainer {trainer}", daemon=True)

    def start(self) -> None:
        """Starts to train.

        Raises:
          CheckpointError: Checkpoints of an earlier start cannot be moved aside.
        """
        if self._plan.move_aside:
            move_aside(self._plan.checkpoints, time.time())
        self._trial.metrics.begin(self.name)
        self._begun_s = time.time()
        self._thread.start()

    def stop(self) -> None:
        """Ends the streams; the trainer saves and returns."""
        self._ending.ask()

    def gauges(self) -> dict[str, float]:
        """Returns what the inputs tell of themselves between updates; of several, in front the input's name."""
        found: dict[str, float] = {}
        for wanted in self.inputs:
            front = f"{wanted.name}/" if len(self.inputs) > 1 else ""
            found |= {f"{front}{name}": value for name, value in wanted.gauges().items()}
        return found

    def running(self) -> bool:
        """Returns whether training goes on."""
        return self._thread.is_alive()

    def wait(self, timeout_s: float) -> None:
        """Waits for the end, however it comes."""
        end_s = time.monotonic() + timeout_s
        while self._thread.is_alive():
            self._ending.ask_again()
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                return
            self._thread.join(min(left_s, AGAIN_S))

    def join(self, timeout_s: float) -> bool:
        """Waits for the end and returns whether it came.

        Raises:
          TrainingError: Training failed; the message is the failed worker's, or that of the check that ended it.
        """
        self.wait(timeout_s)
        if self._thread.is_alive():
            self._heed_alarms()
            return False
        reason = self._trial.metrics.failure(self.run)
        if reason is not None:
            raise TrainingError(reason)
        if self._error is not None:
            kind = "" if isinstance(self._error, SparringError) else f"{type(self._error).__name__}: "
            raise TrainingError(f"training failed: {kind}{self._error}") from self._error
        if self._stopped is not None:
            raise TrainingError(f"training was stopped by a check: {self._stopped}")
        return True

    def _heed_alarms(self) -> None:
        """Ends the streams where the check of a replica says so; the trainer saves and returns."""
        if self._stopped is not None:
            return
        alarm = self._trial.alarms.stopping(self.model, self._begun_s)
        if alarm is not None:
            self._stopped = str(alarm)
            self.stop()

    def _fit(self) -> None:
        spare_watcher()
        try:
            self._trainer().fit()
        except Exception as error:  # noqa: BLE001  # Kept, and raised by ``join``.
            self._error = error

    def _trainer(self) -> TorchTrainer:
        trainer = self._config.trainers[self.name]
        saving = SavingArgs(str(self._plan.checkpoints), self._plan.beginning, self.run)
        args = LoopArgs(self._config, self.name, self._trial.namespace, saving, self.run, self._teachers)
        return TorchTrainer(
            run_worker,
            train_loop_config={"args": args},
            torch_config=NodeNetwork(),
            scaling_config=_scaling(trainer),
            datasets={wanted.stream: wanted.dataset(0, "", 1) for wanted in self.inputs},
            dataset_config=OwnStreams({wanted.stream: wanted.dataset for wanted in self.inputs}),
            run_config=RunConfig(  # type: ignore[call-arg]  # Its type is still that of the old API.
                name=self.run,
                storage_path=str(self._folder / "ray_train"),
                failure_config=FailureConfig(max_failures=trainer.max_restarts),
                worker_runtime_env={"env_vars": missing_env()} if missing_env() else None,
            ),
        )


def _named(folder: str, home: Path) -> str:
    return str(Path(folder).relative_to(home)) if Path(folder).is_relative_to(home) else folder


def _scaling(trainer: TrainerConfig) -> ScalingConfig:
    """Returns how many workers Ray Train starts, and what each reserves."""
    resources = {"CPU": trainer.num_cpus} | ({"GPU": trainer.num_gpus} if trainer.num_gpus else {})
    if not isinstance(trainer.workers, ElasticWorkers):
        return ScalingConfig(num_workers=trainer.workers, use_gpu=trainer.num_gpus > 0, resources_per_worker=resources)
    return ElasticScaling(
        num_workers=(trainer.workers.min, trainer.workers.max),
        elastic_resize_monitor_interval_s=trainer.workers.look_every_s,
        use_gpu=trainer.num_gpus > 0,
        resources_per_worker=resources,
    )
