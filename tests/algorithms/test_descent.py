import math

import pytest
import torch
from torch import Tensor

from app.algorithms.descent import Descent
from app.errors import NonFiniteLossError


class Noting:
    """Takes no step, and notes what it was to go down."""

    def __init__(self, *norms: float | None) -> None:
        self.losses: list[float] = []
        self._norms = list(norms)

    def step(self, loss: Tensor) -> float | None:
        self.losses.append(loss.item())
        return self._norms.pop(0)


def terms(total: float, entropy: float) -> dict[str, Tensor]:
    return {"total": torch.tensor(total), "entropy": torch.tensor(entropy)}


def test_sums_become_means_over_the_rows_of_all_workers() -> None:
    """Gradients are averaged over workers: a sum times their number, by all rows, is the mean."""
    stepper = Noting(1.0, 3.0)
    descent = Descent(stepper, 2, lambda x: x + torch.tensor([4.0, 1.0]))  # What the other worker has.
    descent.step(terms(12.0, 2.0), 6)
    descent.step(terms(8.0, 4.0), 2)
    assert stepper.losses == [12 * 2 / 6, 8 * 2 / 2]
    assert descent.steps == 2
    assert descent.metrics() == {
        "loss_total": (12 / 6 + 8 / 2 + 4) / 2,
        "entropy": pytest.approx((2 / 6 + 4 / 2 + 1) / 2),
        "grad_norm": 2.0,
        "optimizer_steps": 2.0,
    }


def test_a_minibatch_that_is_only_accumulated_is_no_step() -> None:
    descent = Descent(Noting(None, 5.0), 1, lambda x: x)
    for _ in range(2):
        descent.step(terms(1.0, 1.0), 1)
    assert (descent.metrics()["grad_norm"], descent.metrics()["optimizer_steps"]) == (5.0, 1.0)


def test_without_a_minibatch_nothing_is_told() -> None:
    assert Descent(Noting(), 1, lambda x: x).metrics() == {}


@pytest.mark.parametrize("norm", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_is_told_with_its_terms(norm: float) -> None:
    with pytest.raises(NonFiniteLossError, match=r"gradient norm is (nan|inf) .*total 1, entropy 2"):
        Descent(Noting(norm), 1, lambda x: x).step(terms(1.0, 2.0), 1)
