"""The commands as a Python object: check, train, evaluate, save, restore and serve what one config describes."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from app.config.active import active
from app.config.launching import LaunchConfig
from app.config.load import load
from app.config.root import ExperimentConfig
from app.config.slots import refuse_if_too_big, slots
from app.config.usable import refuse_unusable
from app.errors import CheckpointError, ConfigError
from app.home import state_root
from app.models.checkpoints import LATEST, trainer_folder, whole_checkpoints
from app.models.pool import CLONES
from app.stores.mlflow_connection import check, tracking_uri
from app.stores.model_sources import ModelSources
from train.launch.interrupts import Interrupts
from train.launch.progress import Progress
from train.played import as_played, deployed, limited, trained_model
from train.register import register_clone
from train.results import CheckResult, EvaluationResult, SavedModel, Served, TrainResult, evaluation_of, shown
from train.running import RETURN_GAMES, Running

if TYPE_CHECKING:
    from app.models.lineage import Clone
    from train.session import TrainingSession

SERVE_PORT: Final = 8000
"""Serve's own HTTP port where none is named."""


class Experiment:
    """One config, and what runs of it in this process: Ray, service, trainer and game cores.

    The first call that needs them starts them; the end of the ``with`` block, ``close``, an error and Ctrl-C end them.
    For use by one thread at a time.
    """

    def __init__(self, config: ExperimentConfig, file: Path, serve_port: int = SERVE_PORT) -> None:
        """Keeps a checked config; nothing is started.

        Args:
          config: As ``app.config.load.load`` returns it.
          file: Where it was read.
          serve_port: Serve's own HTTP port.
        """
        self.config = config
        self.home = state_root(config.run.project)
        """Folder of the project."""
        self.mlflow_uri = tracking_uri(config.tracking.mlflow_uri, self.home)
        self._file = file
        self._interrupts = Interrupts()
        self._running = Running(serve_port, self._interrupts)
        self._served: Served | None = None
        """The service of fixed weights; None where there is a trainer, or nothing runs."""
        self._restored: str | None = None
        """What the next call begins with; None where it goes on with what there is."""

    @classmethod
    def from_yaml(cls, path: str | Path, *overrides: str, serve_port: int = SERVE_PORT) -> Self:
        """Returns the experiment of a config file; ``overrides`` are ``dotted.key=value``, as with ``--set``.

        Raises:
          ConfigError: The file cannot be read, or keys, values or names are wrong; the message lists all of them.
        """
        return cls(load(Path(path), overrides), Path(path), serve_port)

    def check(self, cpus: float | None = None, gpus: float | None = None) -> CheckResult:
        """Imports the code that the config names, builds its models, and returns what it reserves in the cluster.

        Args:
          cpus: CPU cores of the cluster; None takes those of this machine.
          gpus: GPUs of the cluster; None leaves them out.

        Raises:
          ConfigError: Something is wrong, or the cluster is too small.
        """
        refuse_unusable(self.config, self._file)
        refuse_if_too_big(self.config, os.cpu_count() or 1 if cpus is None else cpus, gpus)
        return CheckResult(tuple(slots(self.config)))

    def restore(self, what: str | int = LATEST) -> Self:
        """Lets the next call begin with what is named, and returns the experiment.

        ``train`` goes on from it as ``--restore`` does; ``evaluate`` and ``serve`` play it; ``save`` sets it apart.

        Args:
          what: ``latest``, a number of updates, or a model's name: ``clones/ID``, ``models:/NAME@ALIAS``, a folder.

        Raises:
          CheckpointError: There is no such model, or it is damaged.
          TrackingError: There is no such registered version.
        """
        ModelSources(self.config, self.home).read(as_played(str(what)))
        self._restored = str(what)
        return self

    def train(self, max_updates: int | None = None) -> TrainResult:
        """Trains until an evaluation reaches ``launch.goal``, or so many updates are done; the service goes on.

        Where the config has a launch section its game cores play; else those that you start.

        Args:
          max_updates: In place of ``trainers.<name>.max_updates``; None keeps that.

        Raises:
          ConfigError: There is nothing to train, or training would never end.
          SparringError: A part failed; the message is that part's own. Nothing of it is left.
        """
        config = active(limited(self.config, max_updates))
        if config.launch is None and any(trainer.max_updates is None for trainer in config.trainers.values()):
            raise ConfigError("training would never end: give max_updates, or the config a launch section with a goal")
        with self._at_work() as progress:
            check(self.mlflow_uri)
            progress.stage("starting service and trainer")
            session = self._running.train(config, self._restored)
            self._restored = self._served = None
            progress.stage("training")
            return self._train(config.launch, session, progress)

    def evaluate(self, games: int | None = None, seed: int | None = None) -> EvaluationResult:
        """Plays evaluation games over the game port and returns what they returned.

        What plays: what was restored, else the newest weights of ``train``, else what ``serve`` serves, else what the
        config says.

        Args:
          games: Number of games; None takes ``launch.goal.evaluation_games``.
          seed: First seed; None takes ``launch.goal.evaluation_seed``.

        Raises:
          ConfigError: The config has no launch section, so there is no game core.
          SparringError: A part failed; the message is that part's own. Nothing of it is left.
        """
        launch = self.config.launch
        if launch is None:
            raise ConfigError("the config has no launch section: evaluate plays launch.simulator")
        number = launch.goal.evaluation_games if games is None else games
        first = launch.goal.evaluation_seed if seed is None else seed
        with self._at_work() as progress:
            session = self._running.session if self._restored is None else None
            pinned = {} if session is None else session.pin()
            weights = shown(pinned) or self._serve().weights
            progress.stage(f"evaluating {weights} over {number} games")
            pursuit = self._running.play(progress)
            version = pursuit.only(pinned) if pinned else None
            return evaluation_of(pursuit.evaluate(number, first, version), weights)

    def save(self, alias: str | None = "champion", *, model: str | None = None, frozen: bool = True) -> SavedModel:
        """Sets weights apart as a clone, and registers them: those that were restored, else the newest of ``train``.

        Args:
          alias: Name in the registry that moves to them; None registers nothing.
          model: Model of the config; None where only one is trained.
          frozen: They never change; False makes a clone that a trainer of its own goes on from.

        Raises:
          ConfigError: Several models are trained and none is named.
          CheckpointError: There are no weights, or they cannot be written.
          TrackingError: The registry cannot be reached.
        """
        wanted = trained_model(self.config) if model is None else model
        with self._at_work():
            sources = ModelSources(self.config, self.home)
            made = self._clone(sources, wanted, frozen=frozen)
            folder, registered = sources.pool.folder(made.id), None
            if alias is not None:
                name, number = register_clone(self.config, self.home, made, folder, alias, None)
                registered = f"models:/{name}/{number}"
            return SavedModel(f"{CLONES}/{made.id}", folder, registered)

    def serve(self) -> Served:
        """Serves weights that do not change, in place of what runs, and returns where; goes on until ``close``.

        What plays: what was restored, else the newest weights of ``train``, else what the config says.

        Raises:
          SparringError: A part failed; the message is that part's own. Nothing of it is left.
        """
        with self._at_work():
            return self._serve()

    def close(self) -> None:
        """Ends all that runs; a trainer under way saves first."""
        self._served = None
        self._running.close()

    def __enter__(self) -> Self:
        """Returns the experiment."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ends all that runs."""
        self.close()

    @contextmanager
    def _at_work(self) -> Iterator[Progress]:
        """Notes Ctrl-C while the block runs; where it fails nothing goes on."""
        with self._interrupts:
            try:
                yield Progress(time.time())
            except BaseException:
                self.close()
                raise

    def _train(self, launch: LaunchConfig | None, session: "TrainingSession", progress: Progress) -> TrainResult:
        solved = None
        if launch is None:
            self._running.follow(session, progress)
        else:
            solved = self._running.play(progress).train(session)
        pinned = session.pin()
        self._running.finish(session)
        told = session.trial.metrics.progress(launch.goal.training_games if launch else RETURN_GAMES)
        trial = self.home / self.config.run.trial
        saved = [folder[-1] for name in session.runs if (folder := whole_checkpoints(trainer_folder(trial, name)))]
        return TrainResult(
            solved=solved is not None,
            updates=told.updates,
            ticks=told.ticks,
            episodes=told.episodes,
            mean_return=told.mean_return,
            evaluation=None if solved is None else evaluation_of(solved[0], shown(solved[1])),
            weights=shown(pinned),
            checkpoints=tuple(str(newest.relative_to(trial)) for newest in saved),
            seconds=round(progress.elapsed_s(), 1),
        )

    def _serve(self) -> Served:
        if self._served is not None and self._restored is None:
            return self._served
        weights: dict[str, str] = {}
        if self._restored is not None:
            weights[trained_model(self.config)] = as_played(self._restored)
        elif self._running.session is not None:
            session = self._running.session
            weights = {name: f"{CLONES}/{self._newest(name, session, frozen=True).id}" for name in session.pin()}
        config = active(deployed(self.config, weights))
        self._running.serve(config)
        self._restored = None
        self._served = Served(
            self._running.url, self._running.ports, ", ".join(weights.values()) or _as_configured(config)
        )
        return self._served

    def _clone(self, sources: ModelSources, model: str, *, frozen: bool) -> "Clone":
        if self._restored is None and self._running.session is not None:
            return self._newest(model, self._running.session, frozen=frozen)
        named = self._restored or (None if self._served is None else self._served.weights)
        if named is None:
            raise CheckpointError("there are no weights to save: train first, or restore some")
        return sources.pool.clone(sources.read(as_played(named)), model, frozen=frozen)

    def _newest(self, model: str, session: "TrainingSession", *, frozen: bool) -> "Clone":
        """Sets the newest weights of a trained model apart."""
        trainers = [name for name, run in session.runs.items() if run.model == model]
        if not trainers:
            raise ConfigError(f"no trainer trains {model!r}; trained are: {', '.join(session.pin())}")
        return session.clone(trainers[0], session.pin()[model], frozen=frozen)


def _as_configured(config: ExperimentConfig) -> str:
    named = [model.checkpoint for model in config.models.values() if model.checkpoint is not None]
    return ", ".join(named) or f"drawn from seed {config.run.seed}"
