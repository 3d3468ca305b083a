"""How a learner worker goes over to another learning period."""

from app.config.root import ExperimentConfig
from app.config.tuned import tuned
from app.league.players import UNTRAINED, LearningPlayer
from app.league.players import Weights as PlayerWeights
from app.models.module import build_module, to_arrays
from app.seeding import derive
from app.stores.league_client import LeagueClient
from app.stores.weights_client import Weights
from app.types import Arrays
from train.league.following import Following, Period
from train.strategies.processes import Processes
from train.trainee import Trainee


class Pupil:
    """Trains whom the league wants, with the numbers of its period."""

    def __init__(
        self,
        config: ExperimentConfig,
        trainer: str,
        league: LeagueClient,
        weights: Weights,
        processes: Processes,
        period: Period,
    ) -> None:
        """Keeps the parts.

        Args:
          config: With the components of its mode.
          trainer: Name of the trainer.
          league: The trial's.
          weights: The trainer's model in the weight store, which finds frozen clones too.
          processes: The workers.
          period: That of the checkpoint; none before the first.
        """
        self.period = period
        self.took = False
        """Whether weights were taken over that the league does not know to be published."""
        self._config = config
        self._settings = config.trainers[trainer]
        self._model = config.models[self._settings.model]
        self._weights = weights
        self._following = Following(league, trainer, processes)

    def begin(self, trainee: Trainee) -> None:
        """Goes on with whom the league wants first.

        Raises:
          TrainingError: The league does not answer.
          LeagueError: The weights are gone.
        """
        self._enter(self._following.first(), trainee)

    def follow(self, trainee: Trainee) -> bool:
        """Goes over to whom the league wants by now, and returns whether weights were taken over for it.

        Raises:
          LeagueError: The weights are gone.
        """
        wanted = self._following.other_than(self.period)
        if wanted is not None:
            self._enter(wanted, trainee)
        return self.took

    def published(self) -> None:
        """Tells the league that what was taken over is published."""
        self.took = False
        self._following.taken_over(self.period.player)

    def _enter(self, wanted: LearningPlayer, trainee: Trainee) -> None:
        known = self.period.is_of(wanted)
        first = None if known or wanted.weights is None else self._arrays(wanted, wanted.weights)
        trainee.change(tuned(self._settings, wanted.hyperparameters), first)
        if not known:
            self.period = Period(wanted.id, wanted.period)
        self.took = first is not None

    def _arrays(self, wanted: LearningPlayer, weights: PlayerWeights) -> Arrays:
        if weights == UNTRAINED:
            seed = derive(self._config.run.seed, wanted.id, wanted.period)
            return to_arrays(build_module(self._model.factory, self._model.kwargs, seed))
        return self._weights.load(weights.version(wanted.id))
