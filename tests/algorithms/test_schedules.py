"""How the learning rate changes with the number of optimizer steps."""

import math
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.algorithms.schedules import constant, cosine, exponential, linear, warmed_up


def test_a_line_goes_to_its_end_and_stays() -> None:
    assert [linear(steps, 4, 0.2) for steps in (0, 1, 2, 4, 9)] == pytest.approx([1.0, 0.8, 0.6, 0.2, 0.2])


def test_half_a_cosine_is_steepest_in_the_middle() -> None:
    quarter = 0.5 * (1 + math.sqrt(0.5))  # The cosine of 45 degrees.
    assert [cosine(steps, 4, 0.0) for steps in (0, 1, 2, 4, 9)] == pytest.approx([1.0, quarter, 0.5, 0.0, 0.0])
    assert cosine(2, 4, 0.5) == pytest.approx(0.75)


def test_a_factor_has_its_effect_once_in_so_many_steps_down_to_the_end() -> None:
    assert [exponential(steps, 0.25, 10, 0.1) for steps in (0, 5, 10, 30)] == pytest.approx([1.0, 0.5, 0.25, 0.1])


def test_a_warm_up_begins_above_zero_and_the_schedule_counts_from_its_end() -> None:
    factor = warmed_up(partial(linear, decay_steps=2, end=0.0), 4)
    assert [factor(steps) for steps in range(7)] == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0, 0.5, 0.0])
    assert warmed_up(constant, 0)(0) == 1.0


@given(st.integers(0, 10_000), st.integers(0, 100), st.integers(1, 1000), st.floats(0, 1))
def test_a_factor_lies_between_zero_and_one(steps: int, warmup: int, decay: int, end: float) -> None:
    for schedule in (partial(linear, decay_steps=decay, end=end), partial(cosine, decay_steps=decay, end=end)):
        assert 0 <= warmed_up(schedule, warmup)(steps) <= 1
