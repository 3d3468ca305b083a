"""The network that one worker trains, with all that changes it."""

from collections.abc import Mapping
from typing import cast

from torch import nn

from app.config.root import ExperimentConfig
from app.config.training import TrainerConfig
from app.models.module import from_arrays, spec_of
from app.types import Arrays
from train.adversaries import load_adversaries
from train.learning import make_held_out, make_learners
from train.resume import Progress, go_on, progress_of
from train.strategies.build import wrap
from train.strategies.processes import Processes
from train.strategies.strategy import Place


class Trainee:
    """A network as its strategy trains it, and the learners of its inputs; all workers call it at the same points."""

    def __init__(
        self,
        config: ExperimentConfig,
        trainer: TrainerConfig,
        module: nn.Module,
        place: Place,
        processes: Processes,
        teachers: Mapping[int, nn.Module],
    ) -> None:
        """Wraps a network.

        Args:
          config: With the components of its mode.
          trainer: How it is trained.
          module: The network, with the weights that training begins with.
          place: Where this worker trains.
          processes: The other workers.
          teachers: Frozen networks by the places of the inputs whose algorithms name one.

        Raises:
          ConfigError: It cannot be trained so on this machine.
          PluginError: User code that the config names is missing.
          SourceError: The games of an expert cannot be read.
          ValueError: An algorithm cannot train such a model.
        """
        self.spec = spec_of(module)
        self._config = config
        self._module = module
        self._place = place
        self._processes = processes
        self._teachers = teachers
        self._make(trainer)

    def _make(self, trainer: TrainerConfig) -> None:
        self.trained = wrap(trainer, self._module, self._place)
        adversaries = load_adversaries(self._config, trainer, self.spec)
        self.learners = make_learners(trainer, self.trained, self.spec, self._teachers, adversaries)
        self.held_out = make_held_out(self._config, trainer, self.trained, self._module)

    def progress(self) -> Progress | None:
        """Returns where training stands, on rank 0; None on the other workers.

        Raises:
          RuntimeError: Another worker is gone.
        """
        return progress_of(self.trained, self.learners, self._processes)

    def go_on(self, progress: Progress) -> None:
        """Puts this worker where the one of the same rank stood; the weights are already in the network.

        Raises:
          CheckpointError: It is of another strategy or number of workers.
        """
        go_on(progress, self.trained, self.learners, self._place.rank)

    def change(self, trainer: TrainerConfig, first: Arrays | None) -> None:
        """Is trained otherwise from now on.

        Args:
          trainer: How.
          first: Weights to begin anew with, forgetting whatever was learned; None goes on with all that there is.

        Raises:
          ModelMismatchError: They are of another network.
        """
        progress = self.progress()
        if first is not None:
            from_arrays(self._module, first)
        self._make(trainer)
        if first is None:
            self.go_on(self._processes.share(lambda: cast("Progress", progress)))
