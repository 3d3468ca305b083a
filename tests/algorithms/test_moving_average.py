"""The moving average of weights."""

import pytest
import torch
from torch import nn

from app.algorithms.moving_average import MovingAverage


def test_the_average_moves_by_its_share_and_leaves_the_weights_alone() -> None:
    module = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        module.weight.fill_(8.0)
    average = MovingAverage(module, 0.75)
    with torch.no_grad():
        module.weight.fill_(0.0)
    seen = []
    for _ in range(2):
        average.follow()
        seen.append(average.averages["weight"].item())
    assert seen == [6.0, 4.5]
    assert module.weight.item() == 0.0


def test_a_saved_average_is_taken_on_as_a_copy() -> None:
    module = nn.Linear(1, 1, bias=False)
    average, saved = MovingAverage(module, 0.5), torch.full((1, 1), 3.0)
    average.load({"weight": saved})
    average.follow()
    assert saved.item() == 3.0
    assert average.averages["weight"].item() == pytest.approx((3.0 + module.weight.item()) / 2)
