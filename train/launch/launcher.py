"""Service, training and game cores in one command, until the model is good enough and served."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.config.active import active
from app.config.load import load
from app.config.root import ExperimentConfig
from app.errors import ConfigError, SparringError
from app.home import state_root
from app.stores.mlflow_connection import check, tracking_uri
from app.types import Version
from deployments.port import probe
from train.launch.cores import Evaluated, Evaluation, GameCores
from train.launch.memory import pss_mib
from train.launch.progress import Progress
from train.launch.result import LaunchResult
from train.launch.ring import APP, SAVE_TIMEOUT_S, Background, Cluster

if TYPE_CHECKING:
    from app.config.serving import ActorConfig
    from deployments.build import Prepared
    from train.session import TrainingSession

LOOK_S: Final = 0.1
"""Seconds between two looks at the ring."""
END_TIMEOUT_S: Final = 30.0
"""Longest wait for a trainer that was told to end."""


class LimitError(SparringError):
    """The launch took longer than the config allows."""


class Launcher:
    """Runs one launch; everything that it starts ends with it."""

    def __init__(self, config: ExperimentConfig, folder: Path, progress: Progress, serve_port: int) -> None:
        """Checks what can be checked before anything starts.

        Args:
          config: Config with a launch section.
          folder: Where the config file lies; its ``deploy_config`` is relative to it.
          progress: Where the user sees how it goes.
          serve_port: Serve's own HTTP port.

        Raises:
          SparringError: The config has no launch section, a port is taken, or the tracking store cannot be used.
        """
        if config.launch is None:
            raise ConfigError("the config has no launch section: it needs launch.simulator and launch.goal")
        self._launch, self._goal = config.launch, config.launch.goal
        self._config = active(config)
        self._progress = progress
        self._serve_port = serve_port
        self._deploy = active(load(folder / self._launch.deploy_config)) if self._launch.deploy_config else None
        for actor in self._config.actors.values():
            probe(actor.host, actor.port)
        probe("127.0.0.1", serve_port)
        self.mlflow_uri = tracking_uri(config.tracking.mlflow_uri, state_root(config.run.project))
        check(self.mlflow_uri)
        self.cluster = Cluster()
        self.tensorboard = state_root(config.run.project) / config.run.trial / "tensorboard"
        self._cores = GameCores(self._launch.simulator, _url(self._config), config.run.seed)
        self._session: TrainingSession | None = None
        self._evaluation: Evaluation | None = None
        self._memory_mib = 0.0

    def run(self) -> LaunchResult:
        """Returns what came of it.

        Raises:
          SparringError: A part failed; the message is that part's own.
        """
        self._progress.stage("starting Ray")
        imports = Background(_import_parts, "imports")
        self.cluster.start()
        self._wait(imports.done, self._launch.limit_s)
        session = self._start_ring()
        solved = self._train(session)
        updates = session.trial.metrics.updates_after(0)
        ring = session.trial.metrics.progress(self._goal.training_games)
        lags = [update.metrics["lag_mean"] for update in updates if "lag_mean" in update.metrics]
        seconds = self._progress.elapsed_s()
        served = None
        if solved is not None:
            evaluated, version = solved
            number = session.promote(version)
            self._progress.stage(f"registered {self._config.run.project} model version {number} as champion")
        self._end_training(session, succeeded=solved is not None)
        if solved is not None and self._deploy is not None:
            served = self._serve_champion(self._deploy)
        return LaunchResult(
            solved=solved is not None,
            seconds_from_launch=seconds,
            env_steps=ring.ticks,
            eval_mean=None if solved is None else evaluated.mean_return,
            served_eval_mean=None if served is None else served.mean_return,
            policy_lag_mean=sum(lags) / len(lags) if lags else None,
            policy_lag_max=max((u.metrics["lag_max"] for u in updates if "lag_max" in u.metrics), default=None),
            seconds_to_first_update=None if not updates else updates[0].time_s - self._progress.started_s,
            updates=ring.updates,
            memory_mib=self._memory_mib,
        )

    def close(self) -> None:
        """Ends whatever still runs; a trainer under way saves first."""
        self._progress.stage("stopping")
        self._cores.stop()
        if self._evaluation is not None:
            self._evaluation.close()
        if self._session is not None and self._session.training.running():
            self._session.training.stop()
            self._session.training.wait(SAVE_TIMEOUT_S)
        self.cluster.close()

    def _start_ring(self) -> "TrainingSession":
        """Starts service and training at the same time and waits until games can be learned from."""
        from deployments.build import prepare  # noqa: PLC0415  # Ray must be set up before it is imported.
        from train.session import TrainingSession  # noqa: PLC0415

        self._progress.stage("starting service and trainer")
        serve = Background(self._start_serve, "serve")
        prepared = prepare(self._config)
        home = state_root(self._config.run.project)
        session = self._session = TrainingSession(self._config, prepared.trial, home, resume=False)
        session.start()
        self._wait(serve.done, self._launch.limit_s)
        deployed = Background(lambda: _deploy(prepared), "deploy")
        self._wait(lambda: deployed.done() and self._live(session), self._launch.limit_s)
        return session

    def _live(self, session: "TrainingSession") -> bool:
        if session.training.join(0):
            raise SparringError("training ended before its first weights; it has nothing to do")
        return session.trial.metrics.progress(self._goal.training_games).live

    def _start_serve(self) -> None:
        from ray import serve  # noqa: PLC0415

        serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": self._serve_port})

    def _train(self, session: "TrainingSession") -> tuple[Evaluated, Version] | None:
        """Plays until an evaluation reaches the goal; None where training ended before."""
        self._progress.stage("training")
        wanted_games = self._goal.training_games
        self._cores.start()
        with self._progress.shown():
            while not session.training.join(0):
                ring = session.trial.metrics.progress(self._goal.training_games)
                self._progress.update(ring)
                self._cores.check()
                self._check_limit()
                good = ring.mean_return is not None and ring.mean_return >= self._goal.mean_return
                if good and ring.episodes >= wanted_games:
                    self._cores.stop()
                    evaluated = self._evaluate_newest(session)
                    if evaluated[0].mean_return >= self._goal.mean_return:
                        return evaluated
                    wanted_games = ring.episodes + self._goal.training_games
                    self._progress.stage("training goes on")
                    self._cores.start()
                time.sleep(LOOK_S)
        self._cores.stop()
        return None

    def _evaluate_newest(self, session: "TrainingSession") -> tuple[Evaluated, Version]:
        """Plays the evaluation games at the newest version, which is pinned so that no publish replaces it."""
        version = session.pin()
        self._progress.stage(f"evaluating version {version} over {self._goal.evaluation_games} games")
        evaluated = self._evaluate(_url(self._config), self._goal.evaluation_seed, version)
        session.log_evaluation(evaluated.mean_return, evaluated.min_return)
        self._progress.stage(f"version {version}: mean {evaluated.mean_return:.1f}, worst {evaluated.min_return:.1f}")
        return evaluated, version

    def _serve_champion(self, config: ExperimentConfig) -> Evaluated:
        """Serves the registered champion alone, and plays against that."""
        from ray import serve  # noqa: PLC0415

        from deployments.build import prepare  # noqa: PLC0415

        self._progress.stage("serving the champion")
        serve.delete(APP)
        _deploy(prepare(config))
        seed = self._goal.evaluation_seed + self._goal.evaluation_games
        served = self._evaluate(_url(config), seed, None)
        self._progress.stage(f"the served champion: mean {served.mean_return:.1f}, worst {served.min_return:.1f}")
        return served

    def _evaluate(self, url: str, seed: int, version: Version | None) -> Evaluated:
        games = self._goal.evaluation_games
        evaluation = self._evaluation = Evaluation(self._launch.simulator, url, games, seed, version)
        try:
            self._memory_mib = max(self._memory_mib, pss_mib())  # While the games are played.
            self._wait(lambda: evaluation.result() is not None, self._launch.limit_s)
            result = evaluation.result()
        finally:
            evaluation.close()
        if result is None:
            raise SparringError("the evaluation ended without a result")
        return result

    def _end_training(self, session: "TrainingSession", *, succeeded: bool) -> None:
        if session.training.running():
            session.training.stop()
        self._wait(lambda: session.training.join(0), END_TIMEOUT_S)
        session.close(succeeded=succeeded)

    def _wait(self, done: Callable[[], bool], limit_s: float) -> None:
        end_s = time.monotonic() + limit_s
        while not done():
            if time.monotonic() > end_s:
                raise LimitError(f"gave up after {limit_s:g} s of waiting")
            time.sleep(LOOK_S)

    def _check_limit(self) -> None:
        if self._progress.elapsed_s() > self._launch.limit_s:
            raise LimitError(
                f"the goal of {self._goal.mean_return:g} was not reached in {self._launch.limit_s:g} s; "
                "give it more time with --set launch.limit_s=N"
            )


def _import_parts() -> None:
    """Imports what both halves need while Ray's processes start."""
    import torch  # noqa: F401, PLC0415


def _deploy(prepared: "Prepared") -> None:
    from ray import serve  # noqa: PLC0415

    from deployments.build import application  # noqa: PLC0415

    serve.run(application(prepared), name=APP)


def _url(config: ExperimentConfig) -> str:
    actor: ActorConfig = next(iter(config.actors.values()))
    return f"http://{actor.host}:{actor.port}"
