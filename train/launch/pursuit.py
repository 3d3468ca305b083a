"""Game cores play and a trainer learns until evaluation games reach the goal."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from app.config.launching import LaunchConfig, SimulatorConfig
from app.config.root import ExperimentConfig
from app.errors import ConfigError
from app.types import Version
from train.launch.cores import Evaluated, Evaluation, GameCores
from train.launch.interrupts import Interruptible
from train.launch.memory import pss_mib
from train.launch.progress import Progress
from train.launch.ring import LOOK_S, LimitError, Ring

if TYPE_CHECKING:
    from train.session import TrainingSession


def evaluated_by(launch: LaunchConfig) -> SimulatorConfig:
    """Returns the game cores of evaluation games: those of training, with seats of their own where there are any."""
    seats = launch.goal.evaluation_seats
    return launch.simulator if seats is None else launch.simulator.model_copy(update={"seats": seats})


class Pursuit:
    """Plays for training, and evaluates, against the service of a ring."""

    def __init__(
        self, config: ExperimentConfig, url: str, ring: Ring, progress: Progress, stopper: Interruptible
    ) -> None:
        """Keeps the names; no game core is started.

        Args:
          config: With a launch section: game cores and goal.
          url: Game port.
          ring: Service and trainer.
          progress: Where the user sees how it goes.
          stopper: Knows whether the user has asked to stop.

        Raises:
          ConfigError: The config has no launch section.
        """
        if config.launch is None:
            raise ConfigError("the config has no launch section: it needs launch.simulator and launch.goal")
        self.memory_mib = 0.0
        """Largest memory of all our processes while evaluation games were played."""
        self._launch, self._goal = config.launch, config.launch.goal
        self._promising = self._goal.mean_return if self._goal.training_return is None else self._goal.training_return
        self._evaluated = evaluated_by(self._launch)
        self._models = len(config.models)
        self._url = url
        self._ring = ring
        self._progress = progress
        self._stopper = stopper
        self._cores = GameCores(config.launch.simulator, url, config.run.seed)
        self._evaluation: Evaluation | None = None

    def train(self, session: "TrainingSession") -> tuple[Evaluated, dict[str, Version]] | None:
        """Plays until an evaluation reaches the goal, and returns it; None where training ended before.

        Raises:
          SparringError: A part failed, or it takes too long.
        """
        wanted_games = self._goal.training_games
        self._cores.start()
        with self._progress.shown():
            while not session.join(0):
                ring = session.trial.metrics.progress(self._goal.training_games)
                self._progress.update(ring)
                self._stopper.check()
                self._cores.check()
                self._check_limit()
                good = ring.mean_return is not None and ring.mean_return >= self._promising
                if good and ring.episodes >= wanted_games:
                    self._cores.stop()
                    evaluated = self._evaluate_newest(session)
                    if evaluated[0].mean_return >= self._goal.mean_return:
                        return evaluated
                    # The games that were broken off for the evaluation are not among the next ones.
                    ended = session.trial.metrics.progress(self._goal.training_games).episodes
                    wanted_games = ended + self._goal.training_games
                    self._progress.stage("training goes on")
                    self._cores.start()
                time.sleep(LOOK_S)
        self._cores.stop()
        return None

    def only(self, pinned: Mapping[str, Version]) -> Version | None:
        """Returns the version that evaluation games are to be played at; None leaves it to the service.

        Several models have versions of their own; while no game is recorded, the newest ones stay what they are.
        """
        return next(iter(pinned.values())) if self._models == 1 else None

    def evaluate(self, games: int, seed: int, version: Version | None) -> Evaluated:
        """Returns what evaluation games return.

        Args:
          games: Number of games.
          seed: First seed.
          version: Weights that play; None leaves them to the service.

        Raises:
          SparringError: Not every game was played, or it takes too long.
        """
        evaluation = self._evaluation = Evaluation(self._evaluated, self._url, games, seed, version)
        self.memory_mib = max(self.memory_mib, pss_mib())  # While the games are played.
        try:
            self._ring.wait(lambda: evaluation.result() is not None)
            return evaluation.checked_result()
        finally:
            evaluation.close()

    def close(self) -> None:
        """Ends the games that are still played."""
        self._cores.stop()
        if self._evaluation is not None:
            self._evaluation.close()

    def _evaluate_newest(self, session: "TrainingSession") -> tuple[Evaluated, dict[str, Version]]:
        """Plays the evaluation games at the newest versions, which are pinned so that no publish replaces them."""
        pinned = session.pin()
        games, shown = self._goal.evaluation_games, ", ".join(str(version) for version in pinned.values())
        self._progress.stage(f"evaluating version {shown} over {games} games")
        evaluated = self.evaluate(games, self._goal.evaluation_seed, self.only(pinned))
        session.log_evaluation(evaluated.mean_return, evaluated.min_return)
        self._progress.stage(f"version {shown}: mean {evaluated.mean_return:.1f}, worst {evaluated.min_return:.1f}")
        return evaluated, pinned

    def _check_limit(self) -> None:
        if self._progress.elapsed_s() > self._launch.limit_s:
            raise LimitError(
                f"the goal of {self._goal.mean_return:g} was not reached in {self._launch.limit_s:g} s; "
                "give it more time with --set launch.limit_s=N"
            )
