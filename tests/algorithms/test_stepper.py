"""How minibatches become optimizer steps."""

import math
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from app.algorithms.loss_scale import LossScale
from app.algorithms.moving_average import MovingAverage
from app.algorithms.schedules import linear
from app.algorithms.stepper import GradientStepper, StepSettings


class Slope(nn.Module):
    """One weight, whose gradient is the number that the loss is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def loss(self, slope: float) -> Tensor:
        return (self.weight * slope).sum()


def stepper(module: Slope, rate: float = 1.0, **settings: object) -> GradientStepper:
    optimizer = torch.optim.SGD(module.parameters(), rate)
    return GradientStepper(module, optimizer, StepSettings(**settings))  # type: ignore[arg-type]


def test_minibatches_are_averaged_into_one_step() -> None:
    module = Slope()
    stepping = stepper(module, accumulate=2)
    assert stepping.step(module.loss(2.0)) is None
    assert module.weight.item() == 0.0
    assert stepping.step(module.loss(4.0)) == 3.0
    assert module.weight.item() == -3.0
    assert (stepping.steps, stepping.pending) == (1, 0)


def test_the_next_step_begins_without_the_gradients_of_the_last() -> None:
    module = Slope()
    stepping = stepper(module)
    assert [stepping.step(module.loss(slope)) for slope in (1.0, 5.0)] == [1.0, 5.0]


@pytest.mark.parametrize(("largest", "moved"), [(None, 4.0), (0.5, 0.5), (10.0, 4.0)])
def test_gradients_are_scaled_down_and_the_norm_is_told_as_it_was(largest: float | None, moved: float) -> None:
    module = Slope()
    assert stepper(module, max_grad_norm=largest).step(module.loss(4.0)) == 4.0
    assert module.weight.item() == pytest.approx(-moved, rel=1e-5)


def test_the_learning_rate_follows_optimizer_steps_not_minibatches() -> None:
    module = Slope()
    stepping = stepper(module, accumulate=2, schedule=partial(linear, decay_steps=2, end=0.0))
    seen = []
    for _ in range(6):
        stepping.step(module.loss(1.0))
        seen.append(module.weight.item())
    assert seen == [0.0, -1.0, -1.0, -1.5, -1.5, -1.5]


@pytest.mark.parametrize("slope", [math.nan, math.inf])
def test_what_is_not_finite_changes_nothing_and_is_told(slope: float) -> None:
    module = Slope()
    stepping = stepper(module)
    norm = stepping.step(module.loss(slope))
    assert norm is not None
    assert not math.isfinite(norm)
    assert (module.weight.item(), stepping.steps) == (0.0, 0)


def test_an_overflow_that_the_scale_may_have_caused_is_left_out_until_it_cannot_be() -> None:
    module = Slope()
    optimizer = torch.optim.SGD(module.parameters(), 1.0)
    stepping = GradientStepper(module, optimizer, StepSettings(), LossScale(2.0))
    assert stepping.step(module.loss(math.inf)) is None
    assert stepping.scale == LossScale(1.0)
    assert stepping.step(module.loss(math.inf)) == math.inf
    assert stepping.step(module.loss(3.0)) == 3.0
    assert module.weight.item() == -3.0


def test_the_scale_of_the_loss_changes_no_step() -> None:
    module = Slope()
    stepping = GradientStepper(module, torch.optim.SGD(module.parameters(), 1.0), StepSettings(), LossScale(1024.0))
    assert stepping.step(module.loss(3.0)) == 3.0
    assert module.weight.item() == -3.0


def test_the_average_follows_optimizer_steps() -> None:
    module = Slope()
    average = MovingAverage(module, 0.5)
    optimizer = torch.optim.SGD(module.parameters(), 1.0)
    stepping = GradientStepper(module, optimizer, StepSettings(accumulate=2), average=average)
    for _ in range(3):
        stepping.step(module.loss(2.0))
    assert average.averages["weight"].item() == -1.0
