import math

import numpy as np
import pytest

from app.checks.bounds import Finite, Range, bounds_text

STARTS = np.zeros(3, np.bool_)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_the_first_value_that_is_not_finite_is_the_example_and_all_such_rows_are_wrong(wrong: float) -> None:
    values = np.array([[1.0, 2.0], [3.0, wrong], [wrong, 0.0]])
    fault = Finite().look(values, STARTS)
    assert fault is not None
    assert fault.rows is not None
    assert (fault.row, fault.element, fault.times, fault.allowed) == (1, 1, 2, "finite numbers")
    assert fault.rows.tolist() == [False, True, True]
    assert str(fault.value) == str(wrong)


def test_finite_values_are_no_fault() -> None:
    assert Finite().look(np.array([[1.0], [-3.0], [1e30]], np.float32), STARTS) is None


def test_bounds_belong_to_the_range_and_nan_to_none() -> None:
    check = Range(-1.0, 2.0)
    assert check.look(np.array([[-1.0], [2.0], [0.0]]), STARTS) is None
    outside = check.look(np.array([[0.0], [2.5], [-1.01]]), STARTS)
    assert outside is not None
    assert (outside.row, outside.value, outside.times, outside.allowed) == (1, 2.5, 2, "-1 to 2")
    nan = check.look(np.array([[0.0], [math.nan], [0.0]]), STARTS)
    assert nan is not None
    assert nan.times == 1


@pytest.mark.parametrize(("low", "high", "text"), [(None, 2.0, "at most 2"), (0.5, None, "at least 0.5")])
def test_a_side_without_a_bound_allows_all(low: float | None, high: float | None, text: str) -> None:
    check = Range(low, high)
    assert check.look(np.array([[1.0], [1.5], [2.0]]), STARTS) is None
    fault = check.look(np.array([[1.0], [9.0 if low is None else -9.0], [1.0]]), STARTS)
    assert fault is not None
    assert fault.allowed == text == bounds_text(low, high)
