"""The stepper of most tests: one optimizer step a minibatch."""

from torch import nn
from torch.optim import Optimizer

from app.algorithms.stepper import GradientStepper, StepSettings


def plain_stepper(module: nn.Module, optimizer: Optimizer, max_grad_norm: float) -> GradientStepper:
    return GradientStepper(module, optimizer, StepSettings(max_grad_norm=max_grad_norm))
