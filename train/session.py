"""One training run with all that accompanies it: the trainers, their metrics, the champions at the end."""

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from app.config.active import agents_of
from app.config.addresses import game_url
from app.config.root import ExperimentConfig
from app.errors import ConfigError, TrackingError, TrainingError
from app.metrics.tensorboard import TensorBoardWriter
from app.models.checkpoints import LATEST
from app.models.lineage import Clone
from app.stores.error_forwarder import end_watching, watch_errors
from app.stores.mlflow_replays import attach_replay
from app.stores.mlflow_store import ModelRegistry, tracking_uri
from app.stores.model_sources import ModelSources
from app.stores.trial import Trial
from app.types import Version
from train.launch.cores import Evaluated
from train.league.keeper import LeagueKeeper
from train.league.trained_player import TrainedPlayer
from train.mlflow_run import TrackedTrial, git_commit
from train.monitor import Monitor, Watched
from train.playing import PlayedEvaluations
from train.promote import Told, clone_version, promote
from train.replays import Replays
from train.run import TrainingRun
from train.tracking import Tracker
from train.unsent import UNSENT

SAVE_TIMEOUT_S: Final = 3.0
"""Longest wait for the trainer's last checkpoint when all ends early."""
HURRY_S: Final = 1.0
"""Longest wait for the metrics then."""
KEEP_TIMEOUT_S: Final = 10.0
"""Longest wait for a player that is being frozen."""
CLOSE_TIMEOUT_S: Final = 20.0
"""Longest wait for the tracking store when all else is done."""

_log = logging.getLogger(__name__)


class TrainingSession:
    """What ``python -m train`` and the launcher have in common."""

    def __init__(self, config: ExperimentConfig, trial: Trial, home: Path, *, restore: str | None = None) -> None:
        """Checks what could fail late.

        Raises:
          ConfigError: There is nothing to train.
          CheckpointError: There is nothing to start from, or what is there is refused.
          TrackingError: The tracking store cannot be used.
        """
        if not config.trainers:
            raise ConfigError("there is nothing to train: add a trainer under trainers")
        if restore is not None and len(config.trainers) > 1 and restore != LATEST:
            raise ConfigError(
                f"{len(config.trainers)} trainers begin together, got --restore {restore}, allowed: {LATEST}"
            )
        self._config = config
        self._restore = restore
        self.trial = trial
        self.runs = {name: TrainingRun(config, name, trial, home, restore=restore) for name in config.trainers}
        """By trainer."""
        self.uri = tracking_uri(config.tracking.mlflow_uri, home)
        tracked = TrackedTrial(
            config.run.project, config.run.trial, config.model_dump(mode="json"), git_commit(Path.cwd())
        )
        self._tracker = Tracker(self.uri, home, tracked, home / config.run.trial / UNSENT)
        self._tracker.check()
        self._registry = ModelRegistry(self.uri, home)
        self._sources = ModelSources(config, home)
        self.tensorboard = home / config.run.trial / "tensorboard"
        writer = (
            TensorBoardWriter(self.tensorboard / time.strftime("%Y%m%d-%H%M%S"))
            if config.tracking.tensorboard
            else None
        )
        self._monitor = Monitor(
            trial.metrics, [self._watched(run) for run in self.runs.values()], self._tracker, writer
        )

        self._replays = Replays(config, home / config.run.trial, self._attach_replay)
        self._keeper = self._league_keeper()
        self._evaluations = [made for run in self.runs.values() if (made := self._played(run)) is not None]

    def start(self) -> None:
        """Starts to train; what begins with first weights begins with a new league as well.

        Raises:
          CheckpointError: Checkpoints of an earlier start cannot be moved aside.
          LeagueError: The league does not answer, or cannot be laid aside.
        """
        watch_errors(self.trial.namespace, "driver", self._config.logs)
        if self._keeper is not None and self._restore is None:
            self.trial.league().begin_anew_now()
        for run in self.runs.values():
            run.start()
        self._monitor.start()
        self._replays.start()
        if self._keeper is not None:
            self._keeper.start()
        for evaluations in self._evaluations:
            evaluations.start()

    def stop(self) -> None:
        """Ends the streams; the trainers save and return."""
        for run in self.runs.values():
            run.stop()

    def join(self, timeout_s: float) -> bool:
        """Waits for the end of all trainers and returns whether it came; where one has failed, the others end, too.

        Raises:
          TrainingError: Training failed; the message is the failed worker's.
        """
        end_s = time.monotonic() + timeout_s
        try:
            ended = [run.join(max(0.0, end_s - time.monotonic())) for run in self.runs.values()]
        except TrainingError:
            self.stop()
            raise
        return all(ended)

    def promote(self, pinned: Mapping[str, Version], rating: float | None = None) -> dict[str, int]:
        """Registers weights under the config's alias and returns the number of each model's new version.

        Args:
          pinned: Which of each model.
          rating: How strong they are, as a league says; None where nobody has rated them.

        Raises:
          TrackingError: MLflow does not take them.
        """
        self._monitor.track()
        return {
            run.model: promote(
                self._config,
                run.model,
                self.trial,
                self._told(run, pinned[run.model], rating),
                self._tracker,
                self._registry,
            )
            for run in self.runs.values()
            if run.model in pinned
        }

    def clone(self, trainer: str, version: Version, *, frozen: bool) -> Clone:
        """Sets weights of a trainer's model apart as a clone of the trial.

        Raises:
          ModelMismatchError: The weights are no longer kept.
          CheckpointError: The clone cannot be written.
        """
        run = self.runs[trainer]
        told = self._told(run, version)
        return clone_version(self._config, run.model, self.trial, told, self._sources, frozen=frozen)

    def log_evaluation(self, mean_return: float, min_return: float) -> None:
        """Logs what evaluation games of the newest update returned."""
        step = max(self.trial.metrics.progress(1, trainer).updates for trainer in self.runs)
        self._tracker.log(step, {"eval_return_mean": mean_return, "eval_return_min": min_return}, time.time())

    def pin(self) -> dict[str, Version]:
        """Returns the newest published version of each trained model and keeps its weights.

        Raises:
          TrackingError: Nothing was published, so there is nothing to play or to register.
        """
        pinned: dict[str, Version] = {}
        for run in self.runs.values():
            version = self.trial.weights(run.model).pin()
            if version is None:
                raise TrackingError(f"no weights of {run.model!r} were published; there is nothing to register")
            pinned[run.model] = version
        return pinned

    def abandon(self, save_s: float = SAVE_TIMEOUT_S) -> None:
        """Ends in a hurry: a trainer under way saves, and an MLflow run that is open is closed as killed.

        Args:
          save_s: Longest wait for the last checkpoint.
        """
        running = [run for run in self.runs.values() if run.running()]
        for run in running:
            run.stop()
        end_s = time.monotonic() + save_s
        for run in running:
            run.wait(max(0.0, end_s - time.monotonic()))
        self._end_threads()
        self._replays.close(HURRY_S)
        self._monitor.halt(HURRY_S)
        self._tracker.close("KILLED", HURRY_S)
        end_watching()

    def close(self, *, succeeded: bool) -> None:
        """Writes what is left to MLflow and TensorBoard and ends the run."""
        self._end_threads()
        self._replays.close(CLOSE_TIMEOUT_S)
        self._monitor.close(CLOSE_TIMEOUT_S)
        self._tracker.close("FINISHED" if succeeded else "FAILED", CLOSE_TIMEOUT_S)
        end_watching()

    def _attach_replay(self, name: str, page: str) -> None:
        """Keeps a page in the trial's run; from the thread that has made it."""
        attach_replay(self.uri, self._tracker.run_id(CLOSE_TIMEOUT_S), name, page)

    def _told(self, run: TrainingRun, version: Version, rating: float | None = None) -> Told:
        return Told(version, self.trial.metrics.progress(1, run.name).updates, run.parent, rating)

    def _played(self, run: TrainingRun) -> PlayedEvaluations | None:
        """Returns the games that are played while a trainer learns; None where its config plays none."""
        settings = self._config.trainers[run.name].evaluation
        if settings is None or settings.games is None:
            return None
        weights, prefix = self.trial.weights(run.model), self._prefix(run)

        def log(updates: int, version: Version, evaluated: Evaluated) -> None:
            found = {"eval_return_mean": evaluated.mean_return, "eval_return_min": evaluated.min_return}
            _log.info("version %s: %d games returned %.4g", version, evaluated.episodes, evaluated.mean_return)
            self._monitor.note(updates, {f"{prefix}{name}": value for name, value in found.items()})

        def updates() -> int:
            return self.trial.metrics.progress(1, run.name).updates

        return PlayedEvaluations(settings, settings.games, self._url, updates, weights.pin, weights.unpin, log)

    def _url(self) -> str:
        """Returns the address of the first actor's game port."""
        return game_url(self._config, self.trial.directory.ports())

    def _league_keeper(self) -> LeagueKeeper | None:
        """Returns what freezes the league's players; None without a league."""
        league = self._config.league
        if league is None:
            return None
        playing = sorted({player.trainer for player in league.players.values()} & self.runs.keys())
        trained = {name: self._trained_player(self.runs[name]) for name in playing}
        return LeagueKeeper(self.trial.league(), trained)

    def _trained_player(self, run: TrainingRun) -> TrainedPlayer:
        weights = self.trial.weights(run.model)
        return TrainedPlayer(
            self.trial.metrics, weights, run.name, lambda version: self.clone(run.name, version, frozen=True)
        )

    def _end_threads(self) -> None:
        if self._keeper is not None:
            self._keeper.close(KEEP_TIMEOUT_S)
        for evaluations in self._evaluations:
            evaluations.close(HURRY_S)

    def _prefix(self, run: TrainingRun) -> str:
        return f"{run.name}/" if len(self.runs) > 1 else ""

    def _watched(self, run: TrainingRun) -> Watched:
        return Watched(run.name, tuple(agents_of(self._config, run.model)), run.gauges, self._prefix(run))
