"""Trains a trial in a whole ring of its own: a service on a free port, game cores over HTTP, learner workers."""

import contextlib
import fcntl
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from ray import serve

from app.config.active import active
from app.config.root import ExperimentConfig
from app.errors import ConfigError, SparringError
from app.home import ensure, state_root
from app.models.checkpoints import CHECKPOINTS, updates_of, whole_checkpoints
from app.stores.host import close_hosts
from app.stores.names import namespace_of
from app.stores.trial import Trial
from app.types import Purpose
from deployments.build import application, prepare
from train.checkpoint import Checkpoints
from train.launch.cores import GameCores
from train.launch.ring import LOOK_S
from train.run import TrainingRun
from train.search.trial import SearchTrial

START_TIMEOUT_S: Final = 180.0
"""Longest wait for the first weights on a busy machine."""
END_TIMEOUT_S: Final = 60.0
"""Longest wait for the last checkpoint."""
CHECKPOINTS_KEPT: Final = 2
"""Newest checkpoints that stay: one may be copied while the next is written."""


def objective(config: ExperimentConfig, trial: SearchTrial) -> None:
    """Trains over HTTP; reports at checkpoints: ``mean_return`` of the newest training games, ``ticks``, ``games``.

    Raises:
      SparringError: The config has no launch section or more than one trainer, or a part failed.
    """
    if config.launch is None or len(config.trainers) != 1:
        raise ConfigError("a trial in a ring needs a launch section and one trainer")
    own = active(_saving_at_reports(config, trial))
    folder = trial.restored()
    restore = None if folder is None else str(whole_checkpoints(folder)[-1])
    with _service(own) as (stores, url):
        run = TrainingRun(own, next(iter(own.trainers)), stores, state_root(own.run.project), restore=restore)
        cores = GameCores(config.launch.simulator, url, config.run.seed)
        run.start()
        try:
            _wait(lambda: stores.metrics.progress(1).live or run.join(0), START_TIMEOUT_S, "the first weights")
            cores.start()
            _report_until_the_end(own, trial, run, stores, cores)
        finally:
            cores.stop()
            run.stop()
            run.wait(END_TIMEOUT_S)


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


@contextmanager
def _service(config: ExperimentConfig) -> Iterator[tuple[Trial, str]]:
    """Serves a trial for as long as the block runs; gives its stores and its game port."""
    name, namespace = f"search-{config.run.trial}", namespace_of(config.run)
    with _alone(config):  # Serve would be started twice.
        serve.start(proxy_location="Disabled")
    with contextlib.suppress(Exception):  # Of a start of this trial that was cut; mostly there is none.
        serve.delete(name)
    close_hosts(namespace)
    prepared = prepare(config)
    try:
        serve.run(application(prepared), name=name, route_prefix=f"/{name}")
        actor = next(iter(config.actors))
        yield prepared.trial, f"http://{config.actors[actor].host}:{prepared.trial.directory.ports()[actor]}"
    finally:
        serve.delete(name)
        prepared.trial.close()


def _report_until_the_end(
    config: ExperimentConfig, trial: SearchTrial, run: TrainingRun, stores: Trial, cores: GameCores
) -> None:
    games = config.launch.goal.training_games if config.launch else 1
    folder, reported = state_root(config.run.project) / config.run.trial / CHECKPOINTS, -1
    ended = False
    while not ended:
        ended = run.join(LOOK_S)
        cores.check()
        newest = Checkpoints(folder).newest()
        progress = stores.metrics.progress(games)
        if newest is None or updates_of(newest) == reported or progress.episodes == 0:
            continue
        reported = updates_of(newest)
        returns = stores.metrics.returns(Purpose.TRAIN)[-games:]
        metrics = {
            "mean_return": sum(returns) / len(returns),
            "ticks": float(progress.ticks),
            "games": float(progress.episodes),
        }
        trial.report(reported, metrics, partial(_copy, newest))


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
