"""Service, training and game cores in one command, until the model is good enough and served."""

from pathlib import Path
from typing import TYPE_CHECKING

from app.config.active import active
from app.config.addresses import game_url
from app.config.load import load
from app.config.root import ExperimentConfig
from app.errors import ConfigError
from app.home import trial_root
from app.plugins import find_plugin
from app.stores.mlflow_connection import check, tracking_uri
from train.launch.cores import Evaluated
from train.launch.progress import Progress
from train.launch.pursuit import Pursuit
from train.launch.result import LaunchResult, lag_of
from train.launch.ring import Ring
from train.launch.stopping import Stopper

if TYPE_CHECKING:
    from train.session import TrainingSession


class Launcher:
    """Runs one launch; everything that it starts ends with it."""

    def __init__(
        self, config: ExperimentConfig, folder: Path, progress: Progress, stopper: Stopper, serve_port: int
    ) -> None:
        """Checks what can be checked before anything starts.

        Args:
          config: Config with a launch section.
          folder: Where the config file lies; its ``deploy_config`` is relative to it.
          progress: Where the user sees how it goes.
          stopper: Knows whether the user has asked to stop.
          serve_port: Serve's own HTTP port.

        Raises:
          SparringError: The config has no launch section, code is missing, a port is taken, or the tracking store
            cannot be used.
        """
        if config.launch is None:
            raise ConfigError("the config has no launch section: it needs launch.simulator and launch.goal")
        for name, actor in config.actors.items():
            if actor.use_gateway is None:
                raise ConfigError(
                    f"launch plays on the game port; actors.{name}.use_gateway is null, allowed: node, head"
                )
        self._launch, self._goal = config.launch, config.launch.goal
        self._config = active(config)
        self._deploy = active(load(folder / self._launch.deploy_config)) if self._launch.deploy_config else None
        models, agents = self._config.models.values(), self._config.agents.values()
        for path in [*(model.factory for model in models), *(agent.factory for agent in agents)]:
            find_plugin(path)
        self.ring = Ring(self._config, serve_port, self._launch.limit_s, stopper)
        self.ring.probe()
        self.trial_folder = trial_root(config.run.project, config.run.trial)
        self.mlflow_uri = tracking_uri(config.tracking.mlflow_uri, self.trial_folder.parent)
        check(self.mlflow_uri)
        self._progress = progress
        self._stopper = stopper
        self._pursuit = Pursuit(self._config, game_url(self._config), self.ring, progress, stopper)

    def run(self) -> LaunchResult:
        """Returns what came of it.

        Raises:
          SparringError: A part failed; the message is that part's own.
          InterruptedLaunchError: The user has asked to stop.
        """
        self._progress.stage("starting Ray")
        self.ring.start_ray()
        self._progress.stage("starting service and trainer")
        session = self.ring.start()
        self._progress.stage("training")
        solved = self._pursuit.train(session)
        result = self._result(session, None if solved is None else solved[0])
        if solved is not None:
            for model, number in session.promote(solved[1]).items():
                alias = self._config.tracking.alias
                self._progress.stage(f"registered {model} {solved[1][model]} as model version {number}, the {alias}")
        session.stop()
        self.ring.wait(lambda: session.join(0))
        session.close(succeeded=solved is not None)
        if solved is None or self._deploy is None:
            return result
        return result.served(self._play_champion(self._deploy).mean_return)

    def close(self) -> None:
        """Ends whatever still runs."""
        self._progress.stage("stopping")
        self._pursuit.close()
        self.ring.close()

    def _play_champion(self, config: ExperimentConfig) -> Evaluated:
        """Serves the registered champion alone, and plays against that, with seeds that nobody has seen."""
        self._progress.stage("serving the champion")
        self.ring.serve_instead(config)
        seed = self._goal.evaluation_seed + self._goal.evaluation_games
        self._pursuit = Pursuit(self._config, game_url(config), self.ring, self._progress, self._stopper)
        served = self._pursuit.evaluate(self._goal.evaluation_games, seed, None)
        self._progress.stage(f"the served champion: mean {served.mean_return:.1f}, worst {served.min_return:.1f}")
        return served

    def _result(self, session: "TrainingSession", evaluated: Evaluated | None) -> LaunchResult:
        updates = session.trial.metrics.updates_after(0)
        ring = session.trial.metrics.progress(self._goal.training_games)
        lag_mean, lag_max = lag_of(updates)
        return LaunchResult(
            solved=evaluated is not None,
            seconds_from_launch=self._progress.elapsed_s(),
            env_steps=ring.ticks,
            eval_mean=None if evaluated is None else evaluated.mean_return,
            served_eval_mean=None,
            policy_lag_mean=lag_mean,
            policy_lag_max=lag_max,
            seconds_to_first_update=updates[0].time_s - self._progress.started_s if updates else None,
            updates=ring.updates,
            memory_mib=self._pursuit.memory_mib,
        )
