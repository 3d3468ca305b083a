"""Temperatures of questions."""

import math

import numpy as np
import pytest

from app.models.distributions.categorical import Categorical
from app.models.question import Decision, Question, decisions, prepare
from app.models.spec import ArraySpec, ModelSpec
from app.types import Version

SPEC = ModelSpec(ArraySpec((1,)), Categorical(2))
ODDS = 3.0  # Of the first choice against the second one.


def decided(temperatures: list[float], uniform: float) -> list[Decision]:
    asked = [Question(np.zeros(1, np.float32), (uniform,), explains=True, temperature=one) for one in temperatures]
    logits = np.tile(np.array([math.log(ODDS), 0.0], np.float32), (len(asked), 1))
    values = np.zeros(len(asked), np.float32)
    found = decisions(SPEC, [prepare(one, SPEC) for one in asked], [logits, values], [], Version(1, 1))
    return [one for one in found if isinstance(one, Decision)]


def test_the_odds_of_an_action_are_raised_to_one_over_the_temperature_of_its_question() -> None:
    temperatures = [1.0, 0.5, 2.0]
    firsts = [math.exp(decision.log_prob) for decision in decided(temperatures, uniform=0.0)]
    # 3 : 1, 9 : 1, and √3 : 1.
    assert firsts == pytest.approx([3 / 4, 9 / 10, math.sqrt(3) / (1 + math.sqrt(3))])


def test_an_action_is_drawn_at_the_temperature_of_its_question() -> None:
    assert [decision.action for decision in decided([1.0, 0.5, 2.0], uniform=0.8)] == [1, 0, 1]


def test_a_decision_tells_what_it_was_drawn_from() -> None:
    plain, sharp = decided([1.0, 0.5], uniform=0.0)
    assert plain.dist_inputs is not None
    assert sharp.dist_inputs is not None
    np.testing.assert_allclose(sharp.dist_inputs[0], 2 * plain.dist_inputs[0])
