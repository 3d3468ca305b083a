"""What strategies share whose parameters are those of the module, whole or split by torch itself."""

from collections.abc import Mapping
from dataclasses import asdict

from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from app.algorithms.contract import Learner
from app.algorithms.loss_scale import LossScale
from app.algorithms.moving_average import MovingAverage
from app.algorithms.stepper import AverageGradients, GradientStepper, whole
from app.config.optimizers import CustomOptimizer
from app.config.training import TrainerConfig
from app.errors import CheckpointError
from train.strategies.optimizers import like, load_optimizer, make_optimizer, on_cpu, saved_optimizer, step_settings
from train.strategies.strategy import MakeLearner, Place, TrainedState


class Parallel:
    """A network whose gradients are the workers' mean after each backward pass; see ``Trained``."""

    def __init__(
        self,
        config: TrainerConfig,
        module: nn.Module,
        called: nn.Module,
        place: Place,
        average_gradients: AverageGradients | None = None,
    ) -> None:
        """Makes optimizer, average and stepper of a network.

        Args:
          config: The trainer's.
          module: The network, on its device; its parameters may be split over the workers.
          called: What learners call: it averages gradients, and computes in the wanted precision.
          place: Where this worker trains.
          average_gradients: Averages them over the devices after each backward pass; None where that is done by then.
        """
        self._module = module
        self._called = called
        self._place = place
        self._split = any(isinstance(x, DTensor) for x in module.parameters())
        settings = config.optimizer
        self._keeps_groups = isinstance(settings, CustomOptimizer)
        self._optimizer = make_optimizer(settings, module.parameters())
        self._average = None if settings.ema_decay is None else MovingAverage(module, settings.ema_decay)
        scale = LossScale() if config.precision == "fp16" else None
        self.stepper = GradientStepper(
            module, self._optimizer, step_settings(settings), scale, self._average, average_gradients
        )

    def learner(self, make: MakeLearner) -> Learner:
        """Returns the learner that trains the network."""
        return make(self._called, self.stepper, self._place.workers, self._place.reduce_sum)

    def state(self) -> TrainedState | None:
        """Returns the whole state; None on all workers but rank 0."""
        if self._place.rank and not self._split:
            return None
        stepper = self.stepper
        pending = {name: x.grad for name, x in self._module.named_parameters() if x.grad is not None}
        state = TrainedState(
            model={name: on_cpu(x) for name, x in self._module.state_dict().items()},
            optimizer=saved_optimizer(self._module, self._optimizer),
            steps=stepper.steps,
            averages={} if self._average is None else {name: on_cpu(x) for name, x in self._average.averages.items()},
            loss_scale={} if stepper.scale is None else asdict(stepper.scale),
            pending=stepper.pending,
            gradients={name: on_cpu(x) for name, x in pending.items()} if stepper.pending else {},
        )
        return state if self._place.rank == 0 else None

    def load(self, state: TrainedState) -> None:
        """Goes on from a state; see ``Trained``."""
        if "parts" in state.optimizer:
            raise CheckpointError(
                "the checkpoint holds an optimizer that deepspeed has split by worker; go on with strategy deepspeed "
                "and as many workers, or take its weights alone (checkpoints.on_existing: reuse)"
            )
        parameters = dict(self._module.named_parameters())
        load_optimizer(self._module, self._optimizer, state.optimizer, groups=self._keeps_groups)
        load_progress(self.stepper, self._average, state)
        for name, gradient in state.gradients.items():
            parameters[name].grad = like(gradient, parameters[name])

    def weights(self) -> Mapping[str, Tensor]:
        """Returns what games play, whole."""
        averages = {} if self._average is None else self._average.averages
        return {name: whole(x.detach()) for name, x in {**self._module.state_dict(), **averages}.items()}

    def may_save(self) -> bool:
        """Returns True: gradients that wait are saved too."""
        return True


def load_progress(stepper: GradientStepper, average: MovingAverage | None, state: TrainedState) -> None:
    """Gives a stepper and its average what was saved of them."""
    stepper.steps, stepper.pending = state.steps, state.pending
    if stepper.scale is not None and state.loss_scale:
        stepper.scale = LossScale(float(state.loss_scale["scale"]), int(state.loss_scale["good_steps"]))
    if average is not None:  # A run that begins to average goes on from the weights as they are.
        average.load({name: like(state.averages.get(name, x), x) for name, x in average.averages.items()})
