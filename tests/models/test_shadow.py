import math

import numpy as np
import torch
from torch import Tensor, nn

from app.models.distributions.categorical import Categorical
from app.models.module import PolicyOutput
from app.models.question import GREEDY, Question
from app.models.shadow import Sample, Shadow
from app.models.spec import ArraySpec, ModelSpec
from app.models.torch_engine import TorchEngine
from app.releases.statistics import ShadowStatistics
from tests.small_policy import TablePolicy


class Raising(TablePolicy):
    def forward(self, observation: Tensor) -> PolicyOutput:
        raise ArithmeticError("on purpose")


class Counting(nn.Module):
    """Takes action 1 from the second tick on."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = ModelSpec(ArraySpec((2,)), Categorical(2), ArraySpec((1,)))

    def forward(self, observation: Tensor, state: Tensor) -> PolicyOutput:
        return PolicyOutput(torch.cat([0.5 - state, state - 0.5], -1), observation[:, 0], state + 1)


def sample(action: int, session: str = "s", tick: int = 0, value: float = 0.5) -> Sample:
    return Sample(session, tick, Question(np.array([0.5, 1.0], np.float32), GREEDY), action, value)


def test_equal_actions_agree_and_values_differ_by_their_distance() -> None:
    shadow = Shadow(TorchEngine(TablePolicy([0.0, 9.0]).requires_grad_(False)))
    assert shadow.compare([sample(1), sample(0, value=2.0)]) == ShadowStatistics(2, 1, value_difference=1.5)


def test_a_shadow_that_raises_or_answers_nan_has_failed() -> None:
    assert Shadow(TorchEngine(Raising([0.0, 9.0]))).compare([sample(1)] * 3) == ShadowStatistics(failed=3)
    assert Shadow(TorchEngine(TablePolicy([math.nan, 0.0]).requires_grad_(False))).compare(
        [sample(1)]
    ) == ShadowStatistics(failed=1)


def test_a_recurrent_shadow_carries_its_own_state() -> None:
    shadow = Shadow(TorchEngine(Counting()))
    assert shadow.compare([sample(0, tick=0), sample(1, tick=1)]).agreed == 2
    assert shadow.compare([sample(1, tick=2)]).agreed == 1


def test_a_recurrent_shadow_that_missed_a_tick_is_not_compared_until_the_next_game() -> None:
    shadow = Shadow(TorchEngine(Counting()))
    shadow.compare([sample(0, tick=0)])
    assert shadow.compare([sample(1, tick=2)]) == ShadowStatistics()
    assert shadow.compare([sample(0, tick=0)]).agreed == 1
