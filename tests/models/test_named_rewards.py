"""Values of named rewards in decisions."""

import math

import numpy as np
import pytest

from app.models.distributions.categorical import Categorical
from app.models.question import GREEDY, Decision, Question, decisions, prepare
from app.models.spec import ArraySpec, ModelSpec
from app.types import Version

SPEC = ModelSpec(ArraySpec((1,)), Categorical(2), rewards=("win", "health"))


def decided(value: list[list[float]]) -> list[Decision | ValueError]:
    asked = [prepare(Question(np.zeros(1, np.float32), GREEDY), SPEC) for _ in value]
    outputs = [np.zeros((len(value), 2), np.float32), np.array(value, np.float32)]
    return decisions(SPEC, asked, outputs, [], Version(1, 1))


def test_a_decision_has_the_value_of_each_reward() -> None:
    first, second = decided([[1.0, 2.0], [3.0, -4.0]])
    assert isinstance(first, Decision)
    assert isinstance(second, Decision)
    assert np.asarray(first.value).tolist() == [1.0, 2.0]
    assert np.asarray(second.value).tolist() == [3.0, -4.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_value_that_is_not_finite_spoils_its_row_alone(bad: float) -> None:
    first, second = decided([[1.0, bad], [3.0, -4.0]])
    assert isinstance(first, ValueError)
    assert f"{bad:g}" in str(first)
    assert isinstance(second, Decision)
