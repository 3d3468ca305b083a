"""The seam between the training loop and the ways to train one network on several devices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from app.algorithms.contract import Learner
from app.algorithms.learner import ReduceSum
from app.algorithms.stepper import Stepper

MakeLearner = Callable[[nn.Module, Stepper, int, ReduceSum], Learner]
"""From the network to call, what changes it, the number of workers and their sum, to a learner."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one worker trains."""

    rank: int = 0
    workers: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    reduce_sum: ReduceSum = field(default=lambda x: x)
    """Adds a CPU tensor up over the workers."""


@dataclass(frozen=True, slots=True)
class TrainedState:
    """Weights and all that changes them; on the CPU, whole, however many workers it was made by."""

    model: Mapping[str, Tensor]
    """Weights and buffers, by name."""
    optimizer: Mapping[str, Any] = field(default_factory=dict)
    """``state`` by parameter name, and ``groups``; or ``parts``, one a worker, where a strategy cannot join them."""
    steps: int = 0
    """Optimizer steps taken: where the schedule stands."""
    averages: Mapping[str, Tensor] = field(default_factory=dict)
    """Moving average of the parameters, by name; empty without one."""
    loss_scale: Mapping[str, float] = field(default_factory=dict)
    """Of fp16; empty without one."""
    pending: int = 0
    """Minibatches whose gradients wait for the next optimizer step."""
    gradients: Mapping[str, Tensor] = field(default_factory=dict)
    """Their sum, by parameter name."""

    def published(self) -> dict[str, Tensor]:
        """Returns the weights that games play: the average where there is one."""
        return {**self.model, **self.averages}


class Trained(Protocol):
    """A network that is trained on the devices of its strategy.

    Where there are several workers, all of them call each method at the same point.
    """

    def learner(self, make: MakeLearner) -> Learner:
        """Returns the learner that trains the network."""

    def state(self) -> TrainedState | None:
        """Returns the whole state; None on all workers but rank 0."""

    def load(self, state: TrainedState) -> None:
        """Goes on from a state; its weights are already in the network that was wrapped.

        Raises:
          CheckpointError: The state is of another strategy or number of workers.
        """

    def weights(self) -> Mapping[str, Tensor]:
        """Returns what games play: all parameters and buffers, whole, by the network's own names."""

    def may_save(self) -> bool:
        """Returns whether a state is whole now; False while gradients wait that cannot be saved."""
