"""Trains a trial in a whole ring of its own: a service on a free port, game cores over HTTP, learner workers."""

import contextlib
import fcntl
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import ray
from ray import serve

from app.config.active import active
from app.config.addresses import game_url
from app.config.root import ExperimentConfig
from app.errors import ConfigError, SparringError
from app.home import ensure, state_root
from app.models.checkpoints import trainer_folder, updates_of, whole_checkpoints
from app.stores.host import close_hosts
from app.stores.names import namespace_of
from app.types import Purpose
from deployments.build import application, prepare
from train.checkpoint import Checkpoints
from train.launch.cores import GameCores
from train.launch.ring import LOOK_S
from train.run import TrainingRun
from train.search.trial import SearchTrial

START_TIMEOUT_S: Final = 180.0
"""Longest wait for the first weights on a busy machine."""
REPORT_TIMEOUT_S: Final = 1800.0
"""Longest wait for a checkpoint."""
STOP_TIMEOUT_S: Final = 60.0
"""Longest wait for the last checkpoint."""
END_TIMEOUT_S: Final = 90.0
"""Longest end of all."""
CHECKPOINTS_KEPT: Final = 10
"""Newest checkpoints that stay: one is copied while further ones are written."""


def objective(config: ExperimentConfig, trial: SearchTrial) -> None:
    """Trains over HTTP; reports at checkpoints: ``mean_return`` of the newest training games, ``ticks``, ``games``.

    Raises:
      SparringError: The config has no launch section or more than one trainer, or a part failed.
    """
    if config.launch is None or len(config.trainers) != 1:
        raise ConfigError("a trial in a ring needs a launch section and one trainer")
    folder = trial.restored()
    restore = None if folder is None else str(whole_checkpoints(folder)[-1])
    # Whatever starts in a process of Ray Tune is placed in the trial's own resources, which hold no service.
    host = ray.remote(RingTrial).options(num_cpus=0, placement_group=None)
    ring: Any = host.remote(active(_saving_at_reports(config, trial)), restore)
    try:
        ray.get(ring.start.remote(), timeout=START_TIMEOUT_S)
        while (told := cast("Told | None", ray.get(ring.next.remote(), timeout=REPORT_TIMEOUT_S))) is not None:
            trial.report(told.updates, told.metrics, partial(_copy, Path(told.checkpoint)))
    finally:
        ray.get(ring.close.remote(), timeout=END_TIMEOUT_S)


class Told(NamedTuple):
    """A ring at a checkpoint."""

    updates: int
    metrics: dict[str, float]
    checkpoint: str


class RingTrial:
    """Service, trainer and game cores of one trial, in a process of their own."""

    def __init__(self, config: ExperimentConfig, restore: str | None) -> None:
        """Keeps the names.

        Args:
          config: With one trainer, which saves whenever there is to be a report.
          restore: What it begins with; None begins anew.
        """
        self._config = config
        self._restore = restore
        self._name = f"search-{config.run.trial}"
        trial = state_root(config.run.project) / config.run.trial
        self._folder = trainer_folder(trial, next(iter(config.trainers)))
        self._closing = contextlib.ExitStack()
        self._reported = -1

    def start(self) -> None:
        """Starts all; returns once games are played.

        Raises:
          SparringError: A part failed.
        """
        self._sweep()
        prepared = prepare(self._config)
        self._stores = prepared.trial
        self._closing.callback(prepared.trial.close)
        self._closing.callback(serve.delete, self._name)
        serve.run(application(prepared), name=self._name, route_prefix=f"/{self._name}")
        name, home = next(iter(self._config.trainers)), state_root(self._config.run.project)
        self._run = TrainingRun(self._config, name, self._stores, home, restore=self._restore)
        self._closing.callback(self._run.wait, STOP_TIMEOUT_S)
        self._closing.callback(self._run.stop)
        self._run.start()
        _wait(lambda: self._stores.metrics.progress(1).live or self._run.join(0), START_TIMEOUT_S, "the first weights")
        self._cores = self._start_cores()
        self._closing.callback(self._cores.stop)

    def next(self) -> Told | None:
        """Waits for the next checkpoint and returns what was reached by then; None at the end of training.

        Raises:
          SparringError: A part failed.
        """
        while True:
            ended = self._run.join(LOOK_S)
            self._cores.check()
            newest = Checkpoints(self._folder).newest()
            returns = self._stores.metrics.returns(Purpose.TRAIN)
            if newest is not None and updates_of(newest) > self._reported and returns:
                self._reported = updates_of(newest)
                return Told(self._reported, self._metrics(returns), str(newest))
            if ended:
                return None

    def close(self) -> None:
        """Ends all that was started."""
        self._closing.close()

    def _metrics(self, returns: Sequence[float]) -> dict[str, float]:
        launch = self._config.launch
        newest = returns[-launch.goal.training_games :] if launch else returns
        progress = self._stores.metrics.progress(1)
        return {
            "mean_return": sum(newest) / len(newest),
            "ticks": float(progress.ticks),
            "games": float(progress.episodes),
        }

    def _start_cores(self) -> GameCores:
        if self._config.launch is None:
            raise ConfigError("a trial in a ring needs a launch section")
        url = game_url(self._config, self._stores.directory.ports())
        cores = GameCores(self._config.launch.simulator, url, self._config.run.seed)
        cores.start()
        return cores

    def _sweep(self) -> None:
        """Starts Serve where it does not run, and ends what a start of this trial has left that was cut."""
        with _alone(self._config):  # Serve would be started twice.
            serve.start(proxy_location="Disabled")
        if self._name in serve.status().applications:
            serve.delete(self._name)
        close_hosts(namespace_of(self._config.run))


def _saving_at_reports(config: ExperimentConfig, trial: SearchTrial) -> ExperimentConfig:
    """Returns the config with a checkpoint at each report, and an end after the trial's updates."""
    changed = {}
    for name, trainer in config.trainers.items():
        keep = trainer.checkpoints.keep.model_copy(
            update={"last": max(CHECKPOINTS_KEPT, trainer.checkpoints.keep.last)}
        )
        saving = {
            "every_updates": trial.report_every_updates,
            "every_s": None,
            "keep": keep,
            "on_existing": "overwrite",
        }
        checkpoints = trainer.checkpoints.model_copy(update=saving)
        changed[name] = trainer.model_copy(update={"max_updates": trial.updates, "checkpoints": checkpoints})
    return config.model_copy(update={"trainers": changed})


def _copy(checkpoint: Path, target: Path) -> None:
    shutil.copytree(checkpoint, target / checkpoint.name)


def _wait(done: Callable[[], bool], limit_s: float, what: str) -> None:
    end_s = time.monotonic() + limit_s
    while not done():
        if time.monotonic() > end_s:
            raise SparringError(f"gave up after {limit_s:g} s of waiting for {what}")
        time.sleep(LOOK_S)


@contextmanager
def _alone(config: ExperimentConfig) -> Iterator[None]:
    """Keeps the trials of this machine out of each other's way."""
    with (ensure(state_root(config.run.project)) / "serve.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
