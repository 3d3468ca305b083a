"""Several learners, one optimizer step."""

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from app.algorithms.contract import Learned
from app.algorithms.stepper import Stepper
from train.together import Part, Shared, update_together


class Sgd:
    """Changes one number by plain gradient descent, and counts."""

    def __init__(self, number: nn.Parameter, rate: float = 0.5) -> None:
        self.number, self.rate, self.steps = number, rate, 0

    def step(self, loss: Tensor) -> float:
        self.number.grad = None
        loss.backward()  # type: ignore[no-untyped-call]
        assert self.number.grad is not None
        norm = float(self.number.grad.abs())
        with torch.no_grad():
            self.number -= self.rate * self.number.grad
        self.steps += 1
        return norm


class Pulling:
    """Pulls the number to a goal, by a slope of 1 a step."""

    def __init__(self, number: nn.Parameter, stepper: Stepper, slope: float, steps: int, fails_at: int = -1) -> None:
        self.number, self.stepper, self.slope, self.steps, self.fails_at = number, stepper, slope, steps, fails_at
        self.norms: list[float | None] = []
        self.draws: list[float] = []

    def update(self, batch: Mapping[str, Tensor], shuffle: torch.Generator) -> Learned:
        for step in range(self.steps):
            if step == self.fails_at:
                raise ArithmeticError("on purpose")
            self.draws.append(float(torch.rand(1)))  # Of the global generator.
            self.norms.append(self.stepper.step(self.slope * self.number))
        return Learned({"steps": float(self.steps)})

    def state_dict(self) -> dict[str, Tensor]:
        return {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        raise AssertionError(state)


def pulled(*slopes_and_steps: tuple[float, int], weights: tuple[float, ...], **wrong: Any) -> tuple[Sgd, list[Pulling]]:
    number = nn.Parameter(torch.tensor(0.0))
    sgd = Sgd(number)
    steppers = [Shared(sgd, weight) for weight in weights]
    made = [
        Pulling(number, stepper, slope, steps, **wrong)
        for stepper, (slope, steps) in zip(steppers, slopes_and_steps, strict=True)
    ]
    parts = [Part(one, {}, torch.Generator()) for one in made]
    update_together(parts, steppers)
    return sgd, made


def test_losses_are_added_by_their_weights_and_the_network_changes_once_a_step() -> None:
    sgd, (one, other) = pulled((1.0, 2), (10.0, 2), weights=(1.0, 0.3))
    assert sgd.steps == 2
    assert float(sgd.number) == pytest.approx(-2 * 0.5 * (1 + 3))
    assert one.norms == other.norms == pytest.approx([4.0, 4.0])


def test_one_that_takes_fewer_steps_leaves_the_others_to_theirs() -> None:
    sgd, (one, other) = pulled((1.0, 3), (2.0, 1), weights=(1.0, 1.0))
    assert sgd.steps == 3
    assert one.norms == pytest.approx([3.0, 1.0, 1.0])
    assert other.norms == pytest.approx([3.0])


def test_random_numbers_are_drawn_in_the_same_order_every_time() -> None:
    torch.manual_seed(3)
    _, first = pulled((1.0, 3), (2.0, 3), weights=(1.0, 1.0))
    torch.manual_seed(3)
    _, second = pulled((1.0, 3), (2.0, 3), weights=(1.0, 1.0))
    assert [one.draws for one in first] == [one.draws for one in second]
    assert first[0].draws != first[1].draws


def test_what_a_learner_raises_ends_the_update_of_all() -> None:
    with pytest.raises(ArithmeticError, match="on purpose"):
        pulled((1.0, 3), (2.0, 3), weights=(1.0, 1.0), fails_at=1)


def test_alone_a_shared_stepper_steps_at_once() -> None:
    number = nn.Parameter(torch.tensor(1.0))
    sgd = Sgd(number)
    assert Shared(sgd, 2.0).step(number * 1.0) == 2.0
    assert float(number) == 0.0
