"""DeepSpeed's ZeRO."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import Tensor, nn

from app.algorithms.contract import Learner
from app.algorithms.moving_average import MovingAverage
from app.algorithms.stepper import LearningRates
from app.config.optimizers import CustomOptimizer
from app.config.strategies import DeepSpeed
from app.config.training import TrainerConfig
from app.errors import CheckpointError
from train.strategies.optimizers import load_optimizer, make_optimizer, on_cpu, saved_optimizer, step_settings
from train.strategies.precision import in_precision
from train.strategies.processes import Processes, ensure_group
from train.strategies.strategy import MakeLearner, Place, TrainedState

if TYPE_CHECKING:
    from app.config.optimizers import Optimizer as OptimizerConfig

WEIGHTS_SPLIT: Final = 3
"""Stage from which on no worker holds whole weights."""


def wrap_deepspeed(config: TrainerConfig, settings: DeepSpeed, module: nn.Module, place: Place) -> "Zero":
    """Returns a network that DeepSpeed trains, after its process group is there."""
    ensure_group(place)
    module.to(place.device)
    return Zero(config, settings, module, place)


class Zero:
    """A network that a DeepSpeed engine trains; see ``Trained``."""

    def __init__(self, config: TrainerConfig, settings: DeepSpeed, module: nn.Module, place: Place) -> None:
        """Starts the engine; every worker does so at the same time."""
        self._config = config
        self._stage = settings.stage
        self._module = module
        self._place = place
        self._processes = Processes(place.rank, place.workers)
        decay = config.optimizer.ema_decay
        client = make_optimizer(config.optimizer, module.parameters(), fused=False)
        called = in_precision(module, config.precision, place.device)
        self._engine = _engine(settings, config.optimizer, called, client, place)
        self._optimizer = getattr(self._engine.optimizer, "optimizer", self._engine.optimizer)
        self._average = None if decay is None else MovingAverage(module, decay)
        self.stepper = ZeroStepper(self._engine, self._optimizer, config.optimizer, self._stage, self._average)

    def learner(self, make: MakeLearner) -> Learner:
        """Returns the learner that trains the network."""
        return make(self._engine, self.stepper, self._place.workers, self._place.reduce_sum)

    def state(self) -> TrainedState | None:
        """Returns the whole state, the optimizer's parts of all workers in it; None on all workers but rank 0."""
        with self._whole_weights():
            model = {name: on_cpu(x) for name, x in self._module.state_dict().items()}
        parts = None if self._stage == 0 else self._processes.gather(_on_cpu(self._optimizer.state_dict()))
        if self._place.rank:
            return None
        averages = {} if self._average is None else self._average.averages
        return TrainedState(
            model=model,
            optimizer=saved_optimizer(self._module, self._optimizer) if parts is None else self._told(parts),
            steps=self.stepper.steps,
            averages={name: on_cpu(x) for name, x in averages.items()},
        )

    def load(self, state: TrainedState) -> None:
        """Goes on from a state; see ``Trained``."""
        self.stepper.steps = state.steps
        if self._average is not None:
            self._average.load({name: state.averages.get(name, x) for name, x in self._average.averages.items()})
        if self._stage == 0:
            keeps_groups = isinstance(self._config.optimizer, CustomOptimizer)
            _refuse_parts(state)
            load_optimizer(self._module, self._optimizer, state.optimizer, groups=keeps_groups)
            return
        wanted = self._told([])
        told = {name: state.optimizer.get(name) for name in wanted}
        parts = state.optimizer.get("parts", [])
        if told | {"parts": []} != wanted or len(parts) != self._place.workers:
            raise CheckpointError(
                f"the checkpoint's optimizer is of stage {told['stage']} of deepspeed and {len(parts)} workers, the "
                f"trainer has stage {self._stage} and {self._place.workers}; allowed: the same, or its weights alone "
                "(checkpoints.on_existing: reuse)"
            )
        self._optimizer.load_state_dict(parts[self._place.rank])

    def weights(self) -> Mapping[str, Tensor]:
        """Returns what games play, whole."""
        averages = {} if self._average is None else self._average.averages
        with self._whole_weights():
            copies = self._stage >= WEIGHTS_SPLIT
            model = {name: x.clone() if copies else x for name, x in self._module.state_dict().items()}
        return {**model, **averages}

    def may_save(self) -> bool:
        """Returns whether no gradients wait: DeepSpeed splits them, and does not give them out."""
        return self.stepper.pending == 0

    def _told(self, parts: list[Any]) -> dict[str, Any]:
        return {"stage": self._stage, "parts": parts}

    @contextmanager
    def _whole_weights(self) -> Iterator[None]:
        """Puts split weights together while the block runs."""
        if self._stage < WEIGHTS_SPLIT:
            yield
            return
        import deepspeed  # noqa: PLC0415

        with deepspeed.zero.GatheredParameters(list(self._module.parameters())):
            yield


class ZeroStepper:
    """Takes steps through a DeepSpeed engine; see ``Stepper``."""

    def __init__(
        self,
        engine: Any,  # DeepSpeed has no types.
        optimizer: torch.optim.Optimizer,
        settings: "OptimizerConfig",
        stage: int,
        average: MovingAverage | None,
    ) -> None:
        self._engine = engine
        self._accumulate = settings.accumulate_minibatches
        self._rates = LearningRates(optimizer, step_settings(settings).schedule)
        self._stage = stage
        self._average = average
        self.steps = 0
        """Optimizer steps taken."""
        self.pending = 0
        """Minibatches whose gradients wait for the next step."""

    def step(self, loss: Tensor) -> float | None:
        """Takes a step where one is due; see ``Stepper``."""
        self._engine.backward(loss / self._accumulate)
        self.pending += 1
        if self.pending < self._accumulate:
            return None
        self.pending = 0
        return self._whole_step() if self._stage == 0 else self._split_step()

    def _split_step(self) -> float:
        """Lets the engine clip and step; it leaves out what is not finite, and its norm is infinite then."""
        self._rates.set(self.steps)
        self._engine.step()
        norm = float(self._engine.get_global_grad_norm())
        if norm != float("inf"):
            self._count()
        return norm

    def _whole_step(self) -> float:
        """Looks at the norm first: without split gradients the engine would take any step."""
        self._engine.buffered_allreduce_fallback()
        parameters = list(self._engine.module.parameters())
        norm = nn.utils.get_total_norm([x.grad for x in parameters if x.grad is not None])
        if not norm.isfinite():
            self._engine.zero_grad()
            return float(norm)
        self._rates.set(self.steps)
        with self._engine_without_reduction():
            self._engine.step()
        self._count()
        return float(norm)

    @contextmanager
    def _engine_without_reduction(self) -> Iterator[None]:
        self._engine.enable_backward_allreduce = False
        try:
            yield
        finally:
            self._engine.enable_backward_allreduce = True

    def _count(self) -> None:
        self.steps += 1
        if self._average is not None:
            self._average.follow()


def engine_config(settings: DeepSpeed, optimizer: "OptimizerConfig") -> dict[str, Any]:
    """Returns what DeepSpeed is told: it splits and steps; accumulation, schedule and precision are ours."""
    zero: dict[str, Any] = {"stage": settings.stage}
    if settings.offload:
        zero["offload_optimizer"] = {"device": "cpu"}
    return {
        "train_micro_batch_size_per_gpu": 1,  # Counted in its log alone.
        "gradient_accumulation_steps": 1,
        "managed_gradient_accumulation": False,
        "gradient_clipping": optimizer.max_grad_norm or 0.0,
        "zero_optimization": zero,
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "steps_per_print": None,
    }


def _engine(
    settings: DeepSpeed, optimizer: "OptimizerConfig", called: nn.Module, client: torch.optim.Optimizer, place: Place
) -> Any:
    on_cpu_alone = place.device.type == "cpu"
    if on_cpu_alone:
        os.environ["DS_ACCELERATOR"] = "cpu"
    os.environ.setdefault("LOCAL_RANK", str(place.device.index or 0))
    os.environ.setdefault("LOCAL_SIZE", str(place.workers))
    import deepspeed  # noqa: PLC0415  # Seconds, and it reads the environment.

    if on_cpu_alone:  # Else it compiles for minutes, and a lock stays behind where it is killed.
        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.init_distributed(dist_backend="gloo" if on_cpu_alone else "nccl", auto_mpi_discovery=False)
    engine, *_ = deepspeed.initialize(model=called, optimizer=client, config=engine_config(settings, optimizer))
    return engine


def _refuse_parts(state: TrainedState) -> None:
    if "parts" in state.optimizer:
        raise CheckpointError(
            f"the checkpoint's optimizer is split by stage {state.optimizer.get('stage')} of deepspeed, the trainer "
            "has stage 0; allowed: the same, or its weights alone (checkpoints.on_existing: reuse)"
        )


def _on_cpu(tree: Any) -> Any:
    """Returns a copy of nested state on the CPU."""
    match tree:
        case Tensor():
            return tree.detach().to("cpu", copy=True)
        case dict():
            return {key: _on_cpu(value) for key, value in tree.items()}
        case list():
            return [_on_cpu(value) for value in tree]
        case _:
            return tree
