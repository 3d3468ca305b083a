"""The forward pass in fewer bits."""

import pytest
import torch
from torch import Tensor, nn

from app.config.strategies import Precision
from tests.small_policy import Adder, small_policy
from train.strategies.precision import in_precision

CPU = torch.device("cpu")


class Noting(nn.Module):
    """Notes the numbers that it computes with."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.seen: list[torch.dtype] = []

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layer(x)
        self.seen.append(y.dtype)
        return y


@pytest.mark.parametrize(("precision", "inside"), [("bf16", torch.bfloat16), ("fp16", torch.float16)])
def test_inside_numbers_are_short_and_outside_they_are_not(precision: Precision, inside: torch.dtype) -> None:
    module = Noting()
    answer = in_precision(module, precision, CPU)(torch.ones(1, 2))
    assert (module.seen, answer.dtype) == ([inside], torch.float32)
    answer.sum().backward()
    assert module.layer.weight.grad is not None
    assert module.layer.weight.grad.dtype == torch.float32


def test_fp32_is_the_network_itself() -> None:
    module = small_policy()
    assert in_precision(module, "fp32", CPU) is module


def test_nested_answers_keep_their_form_and_their_integers() -> None:
    module = Adder()
    state = {"sum": torch.zeros(2, 1), "ticks": (torch.zeros(2, dtype=torch.int64),)}
    observation = {"step": torch.ones(2, 1), "seen": (torch.zeros(2, 2), torch.zeros(2))}
    answer = in_precision(module, "bf16", CPU)(observation, state)
    assert answer.state["ticks"][0].tolist() == [1, 1]
    assert answer.state["ticks"][0].dtype == torch.int64
    assert answer.dist_inputs["go"].dtype == torch.float32
