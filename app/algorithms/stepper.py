"""The seam between a loss and the optimizer: how one minibatch changes the parameters."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from app.algorithms.loss_scale import LossScale
from app.algorithms.moving_average import MovingAverage
from app.algorithms.schedules import Schedule, constant

AverageGradients = Callable[[list[Tensor]], None]
"""Replaces gradients by their mean over the workers."""


class Stepper(Protocol):
    """Turns the loss of one minibatch into a change of the parameters, the same one on all workers."""

    def step(self, loss: Tensor) -> float | None:
        """Backpropagates, and takes an optimizer step where one is due.

        Args:
          loss: Mean over the minibatch of all workers once it is averaged over them; a scalar with a gradient.

        Returns:
          The gradients' norm before they were clipped; None while they are only accumulated, or where a step is left
          out to find a smaller scale of the loss. Where it is not finite, nothing was changed.
        """


class Still:
    """Takes no step, for losses that are measured alone; see ``Stepper``."""

    def step(self, loss: Tensor) -> None:
        """Leaves everything as it is."""


@dataclass(frozen=True, slots=True)
class StepSettings:
    """How gradients become optimizer steps."""

    max_grad_norm: float | None = None
    """Gradients are scaled down to this norm; None leaves them as they are."""
    accumulate: int = 1
    """Minibatches of one optimizer step."""
    schedule: Schedule = constant
    """Factors of the learning rate."""


class LearningRates:
    """Sets the learning rate of each parameter group by the number of optimizer steps."""

    def __init__(self, optimizer: Optimizer, schedule: Schedule) -> None:
        self._optimizer = optimizer  # Not its groups: torch exchanges them with a state.
        self._full = [float(group["lr"]) for group in optimizer.param_groups]
        self._schedule = schedule

    def set(self, steps: int) -> None:
        """Sets those of the step after so many."""
        factor = self._schedule(steps)
        for group, full in zip(self._optimizer.param_groups, self._full, strict=True):
            group["lr"] = full * factor


class GradientStepper:
    """Accumulates gradients, clips them, and takes steps by a schedule, with a scale of the loss and an average."""

    def __init__(
        self,
        module: nn.Module,
        optimizer: Optimizer,
        settings: StepSettings,
        scale: LossScale | None = None,
        average: MovingAverage | None = None,
        average_gradients: AverageGradients | None = None,
    ) -> None:
        """Makes a stepper.

        Args:
          module: Its parameters are changed; with several workers, their gradients are the workers' mean after each
            backward pass, so that what is accumulated is the same on all of them.
          optimizer: Of the module's parameters, with the full learning rates.
          settings: How gradients become steps.
          scale: Of the first loss; None scales none.
          average: Follows the parameters; None averages nothing.
          average_gradients: Averages them over the workers after each backward pass; None where that is done by then.
        """
        self._parameters = list(module.parameters())
        self._optimizer = optimizer
        self._settings = settings
        self._rates = LearningRates(optimizer, settings.schedule)
        self._average = average
        self._average_gradients = average_gradients
        self.scale = scale
        self.steps = 0
        """Optimizer steps taken: where the schedule stands."""
        self.pending = 0
        """Minibatches whose gradients wait for the next step."""

    def step(self, loss: Tensor) -> float | None:
        """Takes a step where one is due; see ``Stepper``."""
        if self.pending == 0:
            self._optimizer.zero_grad(set_to_none=True)
        factor = (1.0 if self.scale is None else self.scale.scale) / self._settings.accumulate
        (loss if factor == 1 else loss * factor).backward()  # type: ignore[no-untyped-call]
        self.pending += 1
        gradients = [x.grad for x in self._parameters if x.grad is not None]
        if self._average_gradients is not None:
            self._average_gradients(gradients)
        if self.pending < self._settings.accumulate:
            return None
        self.pending = 0
        return self._take(gradients)

    def _take(self, gradients: list[Tensor]) -> float | None:
        if self.scale is not None:
            torch._foreach_mul_(gradients, 1 / self.scale.scale)
        norm = whole(nn.utils.get_total_norm(gradients))
        value = float(norm)
        finite = math.isfinite(value)
        if finite:
            self._change(norm)
        if self.scale is None:
            return value
        may_shrink = self.scale.can_shrink()
        self.scale = self.scale.after(finite=finite)
        return None if not finite and may_shrink else value

    def _change(self, norm: Tensor) -> None:
        if self._settings.max_grad_norm is not None:
            nn.utils.clip_grads_with_norm_(self._parameters, self._settings.max_grad_norm, norm)
        self._rates.set(self.steps)
        self._optimizer.step()
        self.steps += 1
        if self._average is not None:
            self._average.follow()


def whole(x: Tensor) -> Tensor:
    """Returns a tensor that may be split over workers as a whole one; then all workers must ask."""
    gather = getattr(x, "full_tensor", None)
    return x if gather is None else gather()
