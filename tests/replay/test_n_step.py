import json
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from app.algorithms.n_step import n_step_returns
from app.replay.n_step import n_step, transition_columns
from app.types import RowKind, Rows
from tests.replay.rows import columns_of, joined, trajectory

STEP, FULL, TERMINATED, TRUNCATED, LOST = RowKind

VECTORS = json.loads((Path(__file__).parent.parent / "vectors/tianshou_n_step.json").read_text())

ends = st.sampled_from([FULL, TERMINATED, TRUNCATED, LOST])
rewards = st.lists(st.integers(-8, 8).map(float), max_size=7)


def reached(transitions: Rows) -> list[int]:
    """Returns the number of the row that each transition leads to."""
    return [int(number) for number in transitions["next_observation/units"][:, 0]]


@pytest.mark.parametrize("end", [FULL, TRUNCATED, LOST])
def test_a_trajectory_that_went_on_bootstraps_by_hand(end: RowKind) -> None:
    got = n_step(trajectory(count(), [1, 2, 4, 8], end), 2, 0.5)
    # 1 + 2/2, 2 + 4/2, 4 + 8/2, and one step alone in front of the end.
    assert got["reward"].tolist() == [2, 4, 8, 8]
    assert got["discount"].tolist() == [0.25, 0.25, 0.25, 0.5]
    assert reached(got) == [2, 3, 4, 4]


def test_termination_inside_the_window_stops_the_return_by_hand() -> None:
    got = n_step(trajectory(count(), [1, 2, 4, 8], TERMINATED), 3, 0.5)
    # 1 + 2/2 + 4/4, 2 + 4/2 + 8/4, 4 + 8/2, 8
    assert got["reward"].tolist() == [3, 6, 8, 8]
    assert got["discount"].tolist() == [0.125, 0, 0, 0]


def test_a_transition_holds_its_own_row_and_each_leaf_of_the_state_that_it_reached() -> None:
    rows = trajectory(count(), [1, 2], TRUNCATED)
    got = n_step(rows, 1, 0.5)
    assert "kind" not in got
    for name in ("observation/units", "observation/map", "action", "action_mask", "state/0", "episode", "tick"):
        assert got[name].tolist() == rows[name][:2].tolist()
    for name in ("observation/units", "observation/map", "action_mask", "state/0"):
        assert got[f"next_{name}"].tolist() == rows[name][1:].tolist()
    assert columns_of(got) == transition_columns(columns_of(rows))


def test_what_follows_a_truncation_is_not_seen() -> None:
    first = trajectory(count(), [1, 1], TRUNCATED)
    alone = n_step(first, 5, 0.5)
    both = n_step(joined(first, trajectory(count(50), [1000, 1000, 1000], FULL)), 5, 0.5)
    assert {name: column[:2].tolist() for name, column in both.items()} == {
        name: column.tolist() for name, column in alone.items()
    }


@pytest.mark.parametrize("steps", [1, 2, 10])
def test_the_targets_are_those_that_tianshou_tests_for(steps: int) -> None:
    targets, order = outside_targets(steps, TRUNCATED)
    np.testing.assert_allclose(targets, VECTORS["expected"][str(steps)], rtol=1e-6)
    assert len(order) == 10


def test_a_time_limit_is_no_death() -> None:
    right, _ = outside_targets(2, TRUNCATED)
    dead, _ = outside_targets(2, TERMINATED)
    assert np.flatnonzero(np.abs(right - dead) > 1e-6).tolist() == [0, 1]


def outside_targets(steps: int, at_the_limit: RowKind) -> tuple[np.ndarray, list[int]]:
    """Returns the targets of the outside case in our layout: the value of its row i is -rew[i]."""
    parts, row, order = [], [], VECTORS["order_of_indices"]
    for index in order:
        row.append(index)
        if VECTORS["done"][index] or index == order[-1]:
            limit = index == VECTORS["truncated_at_index"]
            end = trajectory(
                iter([*row, index]), [VECTORS["rew"][i] for i in row], at_the_limit if limit else TERMINATED
            )
            parts.append(end)
            row = []
    got = n_step(joined(*parts), steps, VECTORS["gamma"])
    value = -np.array(VECTORS["rew"], float)[reached(got)]
    return got["reward"] + got["discount"] * value, order


@given(st.lists(st.tuples(rewards, ends), max_size=5), st.integers(1, 9))
def test_a_batch_is_worth_what_its_trajectories_are_worth_alone(
    batch: list[tuple[list[float], RowKind]], steps: int
) -> None:
    numbers = count()
    parts = [trajectory(numbers, values, end) for values, end in batch]
    if not parts:
        return
    whole, alone = n_step(joined(*parts), steps, 0.5), joined(*(n_step(part, steps, 0.5) for part in parts))
    assert whole.keys() == alone.keys()
    assert all(np.array_equal(whole[name], alone[name]) for name in whole)


@given(rewards, ends, st.integers(1, 9), st.floats(0, 1))
def test_a_return_is_the_discounted_sum_of_the_rewards_on_the_way(
    values: list[float], end: RowKind, steps: int, gamma: float
) -> None:
    got = n_step(trajectory(count(), values, end), steps, gamma)
    for at in range(len(values)):
        window = values[at : at + steps]
        expected = sum(gamma**step * reward for step, reward in enumerate(window))
        assert got["reward"][at] == pytest.approx(expected, rel=1e-5, abs=1e-5)
        assert reached(got)[at] == at + len(window)
        dead = end is TERMINATED and at + len(window) == len(values)
        assert got["discount"][at] == pytest.approx(0.0 if dead else gamma ** len(window), rel=1e-6)


@given(st.lists(st.tuples(rewards.filter(bool), ends), min_size=1, max_size=4), st.integers(1, 6))
def test_the_targets_are_the_n_step_returns_of_the_algorithms(
    batch: list[tuple[list[float], RowKind]], steps: int
) -> None:
    numbers, gamma = count(), 0.5
    rows = joined(*(trajectory(numbers, values, end) for values, end in batch))
    got = n_step(rows, steps, gamma)
    worth = np.cos(np.arange(len(rows["reward"])))  # Any value of each row's state.
    dead = np.concatenate([[0.0] * (len(values) - 1) + [end is TERMINATED] for values, end in batch])
    cut = np.concatenate([[0.0] * (len(values) - 1) + [1.0] for values, _ in batch])
    at = np.flatnonzero(rows["kind"] == STEP)
    columns = (rows["reward"][at], gamma * (1 - dead), worth[at + 1], cut)
    expected = n_step_returns(*(torch.tensor(column, dtype=torch.float64)[:, None] for column in columns), n=steps)
    targets = got["reward"] + got["discount"] * worth[reached(got)]
    np.testing.assert_allclose(targets, expected[:, 0].numpy(), rtol=1e-5, atol=1e-5)


def test_rows_without_a_step_make_no_transition() -> None:
    rows = joined(trajectory(count(), [], LOST), trajectory(count(), [], LOST))
    assert len(n_step(rows, 3, 0.9)["reward"]) == 0


def test_rows_that_end_in_a_step_and_impossible_numbers_are_refused() -> None:
    rows = trajectory(count(), [1, 2], FULL)
    with pytest.raises(ValueError, match="the last row is a step"):
        n_step({name: column[:2] for name, column in rows.items()}, 1, 0.9)
    with pytest.raises(ValueError, match=r"got 0 and 0\.9"):
        n_step(rows, 0, 0.9)
    with pytest.raises(ValueError, match=r"got 1 and 1\.5"):
        n_step(rows, 1, 1.5)
