import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.algorithms.gae import gae
from app.types import RowKind

STEP, FULL, TERMINATED, TRUNCATED, LOST = RowKind

VECTORS = json.loads((Path(__file__).parent.parent / "vectors/tianshou_gae.json").read_text())
CASES = {case["name"]: case for case in VECTORS["cases"]}

Columns = tuple[list[float], list[float], list[int]]

ends = st.sampled_from([FULL, TERMINATED, TRUNCATED, LOST])
numbers = st.floats(-100, 100, width=32)
trajectories = st.lists(st.tuples(st.lists(st.tuples(numbers, numbers), max_size=6), ends, numbers), max_size=5)


def run(columns: Columns, gamma: float = 0.5, lambda_: float = 0.5) -> NDArray[np.float32]:
    reward, value, kind = columns
    return gae(np.array(reward, np.float32), np.array(value, np.float32), np.array(kind, np.int8), gamma, lambda_)


def rows_of(case: dict[str, Any], truncated_is: RowKind = TRUNCATED, *, forget_truncations: bool = False) -> Columns:
    """Returns the outside case in our layout: a bootstrap row with V(s') behind each end."""
    value = np.roll(VECTORS["v_next"], 1).tolist()  # The case's V(s) is V(s') of the row before.
    rows: list[tuple[float, float, int]] = []
    for at, reward in enumerate(VECTORS["rew"]):
        rows.append((reward, value[at], STEP))
        if case["terminated"][at]:
            rows.append((0.0, VECTORS["v_next"][at], TERMINATED))
        elif case["truncated"][at] and not forget_truncations:
            rows.append((0.0, VECTORS["v_next"][at], truncated_is))
    reward, values, kind = (list(column) for column in zip(*rows, strict=True))
    return reward, values, kind


def returns_of(columns: Columns) -> NDArray[np.float32]:
    advantage = run(columns, 0.99, 0.95)
    step = np.array(columns[2]) == STEP
    return (advantage + np.array(columns[1], np.float32))[step]


@pytest.mark.parametrize("name", list(CASES))
def test_the_returns_are_those_that_tianshou_tests_for(name: str) -> None:
    np.testing.assert_allclose(returns_of(rows_of(CASES[name])), CASES[name]["expected"], rtol=1e-6)


def test_a_truncation_is_no_death() -> None:
    case = CASES["two_truncations"]
    dead = returns_of(rows_of(case, truncated_is=TERMINATED))
    np.testing.assert_allclose(dead, case["wrong_if_truncated_treated_as_terminated"], rtol=1e-6)
    assert np.abs(returns_of(rows_of(case)) - dead)[:8].min() > 0.5


def test_a_truncation_is_not_ignored() -> None:
    case = CASES["two_truncations"]
    ignored = returns_of(rows_of(case, forget_truncations=True))
    np.testing.assert_allclose(ignored, case["wrong_if_boundary_ignored"], rtol=1e-6)
    assert np.abs(returns_of(rows_of(case)) - ignored)[:8].min() > 100


def test_a_terminated_trajectory_by_hand() -> None:
    # delta_1 = 2 - 5 = -3, delta_0 = 1 + 0.5 * 5 - 3 = 0.5, advantage_0 = 0.5 + 0.25 * -3
    got = run(([1, 2, 0], [3, 5, 99], [STEP, STEP, TERMINATED]))
    assert got.tolist() == [-0.25, -3.0, 0.0]


@pytest.mark.parametrize("kind", [FULL, TRUNCATED, LOST])
def test_a_trajectory_that_went_on_bootstraps_by_hand(kind: RowKind) -> None:
    # delta_1 = 2 + 0.5 * 8 - 5 = 1, advantage_0 = 0.5 + 0.25 * 1
    assert run(([1, 2, 0], [3, 5, 8], [STEP, STEP, kind])).tolist() == [0.75, 1.0, 0.0]


def test_lambda_0_is_the_one_step_error_and_lambda_1_the_discounted_return() -> None:
    columns: Columns = ([1, 2, 4, 0], [3, 5, 7, 8], [STEP, STEP, STEP, FULL])
    assert run(columns, 0.5, 0.0).tolist() == [0.5, 0.5, 1.0, 0.0]
    assert run(columns, 0.5, 1.0).tolist() == [1 + 1 + 1 + 1 - 3, 2 + 2 + 2 - 5, 4 + 4 - 7, 0.0]


@given(trajectories, numbers)
def test_a_batch_is_worth_what_its_trajectories_are_worth_alone(
    batch: list[tuple[list[tuple[float, float]], RowKind, float]], garbage: float
) -> None:
    whole: Columns = ([], [], [])
    alone: list[float] = []
    for steps, end, bootstrap in batch:
        reward = [r for r, _ in steps] + [garbage]
        value = [v for _, v in steps] + [bootstrap]
        kind: list[int] = [STEP] * len(steps) + [end]
        alone += run((reward, value, kind), 0.9, 0.8).tolist()
        for column, part in zip(whole, (reward, value, kind), strict=True):
            column.extend(part)  # type: ignore[arg-type]
    assert run(whole, 0.9, 0.8).tolist() == alone


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=8), ends, numbers)
def test_an_advantage_is_the_discounted_sum_of_the_errors_that_follow(
    steps: list[tuple[float, float]], end: RowKind, bootstrap: float
) -> None:
    gamma, lambda_ = 0.95, 0.7
    length = len(steps)
    reward, value = [r for r, _ in steps], [v for _, v in steps]
    reached = [*value[1:], 0.0 if end is TERMINATED else bootstrap]
    delta = [r + gamma * v_t - v_tm1 for r, v_t, v_tm1 in zip(reward, reached, value, strict=True)]
    expected = [sum((gamma * lambda_) ** (k - at) * delta[k] for k in range(at, length)) for at in range(length)]
    got = run(([*reward, 7.0], [*value, bootstrap], [STEP] * length + [end]), gamma, lambda_)
    np.testing.assert_allclose(got, [*expected, 0.0], rtol=1e-5, atol=1e-4)


def test_a_batch_may_be_empty() -> None:
    assert run(([], [], [])).shape == (0,)


def test_a_batch_that_ends_in_a_step_is_refused() -> None:
    with pytest.raises(ValueError, match="the last row is a step"):
        run(([1, 2], [0, 0], [FULL, STEP]))


def test_columns_of_unlike_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"one shape \[N\], got \(1,\), \(2,\), \(1,\)"):
        run(([1], [1, 2], [FULL]))
