"""The network that is evolved, and what is saved of it."""

from collections.abc import Mapping, Sequence

from torch import nn

from app.algorithms.evolution import Pair, update
from app.algorithms.learner import policy_problem
from app.algorithms.stepper import GradientStepper
from app.config.evolution import EvolutionConfig
from app.config.models import ModelConfig
from app.config.optimizers import CustomOptimizer
from app.errors import ConfigError
from app.models.depending import acting_parameters
from app.models.module import hash_of, spec_of, to_arrays
from app.replay.ancestry import Ancestry
from app.types import Arrays
from train.checkpoint import LearnerState
from train.resume import Progress
from train.strategies.optimizers import load_optimizer, make_optimizer, on_cpu, saved_optimizer, step_settings
from train.strategies.strategy import TrainedState


class Evolved:
    """Weights, optimizer and the number of updates."""

    def __init__(self, settings: EvolutionConfig, module: nn.Module) -> None:
        """Makes the optimizer.

        Args:
          settings: The evolution's.
          module: The network, with its first weights.

        Raises:
          ConfigError: It is no policy.
          PluginError: An optimizer of the user's own is missing.
        """
        if problem := policy_problem(spec_of(module)):
            raise ConfigError(f"evolution.model is {settings.model}, got {problem}; allowed is a policy")
        self._settings = settings
        self._module = module
        self._parameters = acting_parameters(module)
        self._optimizer = make_optimizer(settings.optimizer, self._parameters)
        self._stepper = GradientStepper(module, self._optimizer, step_settings(settings.optimizer))
        self.updates = 0

    def arrays(self) -> Arrays:
        """Returns copies of the present weights."""
        return to_arrays(self._module)

    def update(self, pairs: Sequence[Pair]) -> dict[str, float]:
        """Learns from a population, and returns metrics.

        Raises:
          NonFiniteLossError: The weights have no finite norm; they stay as they are.
        """
        settings = self._settings
        metrics = update(self._stepper, self._parameters, pairs, settings.sigma, settings.weight_decay)
        self.updates += 1
        return metrics

    def go_on(self, state: LearnerState) -> None:
        """Goes on from a state, whose weights are already in the network.

        Raises:
          CheckpointError: It is of other parameters.
        """
        trained, own = state.progress.trained, isinstance(self._settings.optimizer, CustomOptimizer)
        load_optimizer(self._module, self._optimizer, trained.optimizer, groups=own)
        self._stepper.steps = trained.steps
        self.updates = state.updates

    def state(
        self, model: ModelConfig, run: str, generation: int, ancestry: Ancestry, metrics: Mapping[str, float]
    ) -> LearnerState:
        """Returns all that the evolution goes on from, which is a model that can be served as well.

        Args:
          model: What builds the network.
          run: The start that it belongs to.
          generation: Of that start.
          ancestry: What the start went on from.
          metrics: What it is compared by.
        """
        trained = TrainedState(
            model={name: on_cpu(x) for name, x in self._module.state_dict().items()},
            optimizer=saved_optimizer(self._module, self._optimizer),
            steps=self._stepper.steps,
        )
        return LearnerState(
            Progress(trained),
            self.updates,
            generation,
            hash_of(self._module),
            run,
            number=self.updates,
            factory=model.factory,
            kwargs=model.kwargs,
            metrics=metrics,
            ancestry=ancestry,
        )
