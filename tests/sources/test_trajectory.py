"""Stored episodes become trajectories: steps and one bootstrap row, in the model's columns."""

import numpy as np
import pytest

from app.errors import SourceError
from app.sources.fitting import fields_of
from app.sources.stored import Columns, Stored
from app.sources.trajectory import trajectory
from app.types import RowKind, Rows

from .made import FLAT, episode


def made(columns: Columns, number: int = 7) -> Rows | None:
    return trajectory(Stored(columns, "demos.npz, episode 3"), fields_of(FLAT), number)


def rows_of(columns: Columns) -> Rows:
    rows = made(columns)
    assert rows is not None
    return rows


def test_an_episode_with_its_last_state_keeps_all_steps() -> None:
    rows = rows_of(episode(2, terminated=False))
    assert rows["observation"].tolist() == [[0, 0], [1, -1], [2, -2]]
    assert rows["action"].tolist() == [0, 1, 1]
    assert rows["reward"].tolist() == [0.5, 1.5, 0]
    assert rows["kind"].tolist() == [RowKind.STEP, RowKind.STEP, RowKind.TRUNCATED]
    assert rows["weight"].tolist() == [1, 1, 0]
    assert rows["tick"].tolist() == [0, 1, 2]
    assert rows["episode"].tolist() == [7, 7, 7]


def test_what_the_file_does_not_say_is_0_and_everything_is_allowed() -> None:
    rows = rows_of(episode(2))
    assert rows["action_mask"].tolist() == [[1, 1, 1, 1]] * 3
    for name in ("log_prob", "value", "generation", "version"):
        assert rows[name].tolist() == [0, 0, 0]
    assert {name: column.dtype for name, column in rows.items()} == {
        name: field.dtype for name, field in fields_of(FLAT).items()
    }


def test_a_one_step_episode_is_a_trajectory() -> None:
    assert rows_of(episode(1))["kind"].tolist() == [RowKind.STEP, RowKind.TERMINATED]


def test_a_terminated_episode_loses_nothing_where_its_last_state_is_unknown() -> None:
    columns = episode(2)
    columns["observation"] = columns["observation"][:2]
    rows = rows_of(columns)
    assert rows["observation"].tolist() == [[0, 0], [1, -1], [1, -1]]
    assert rows["kind"].tolist() == [RowKind.STEP, RowKind.STEP, RowKind.TERMINATED]


def test_a_truncated_episode_loses_the_step_whose_next_state_is_unknown() -> None:
    columns = episode(2, terminated=False)
    columns["observation"] = columns["observation"][:2]
    rows = rows_of(columns)
    assert rows["observation"].tolist() == [[0, 0], [1, -1]]
    assert rows["kind"].tolist() == [RowKind.STEP, RowKind.TRUNCATED]
    assert rows["reward"].tolist() == [0.5, 0]
    short = episode(1, terminated=False)
    short["observation"] = short["observation"][:1]
    assert made(short) is None


def test_the_next_observation_of_the_last_step_is_the_state_reached() -> None:
    columns = episode(2, terminated=False)
    columns["next_observation"] = columns["observation"][1:]
    columns["observation"] = columns["observation"][:2]
    assert rows_of(columns)["observation"].tolist() == [[0, 0], [1, -1], [2, -2]]


def test_an_episode_of_which_no_end_is_told_went_on() -> None:
    columns = episode(2)
    del columns["terminated"], columns["truncated"]
    assert rows_of(columns)["kind"].tolist() == [RowKind.STEP, RowKind.STEP, RowKind.FULL]


def test_rows_of_our_own_stay_as_they_are() -> None:
    columns = rows_of(episode(2)) | {"log_prob": np.array([-0.5, -0.25, 0], np.float32)}
    again = rows_of(dict(columns))
    assert all(np.array_equal(columns[name], again[name]) for name in columns)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observation": np.zeros((3, 5))}, "observation is float64 of shape (5,); allowed is float32 of shape (2,)"),
        ({"action": np.array([0, 4])}, "row 1: action holds 4; allowed is int64 of shape () from 0 to 3"),
        ({"action": np.array([0.5, 1])}, "row 0: action holds 0.5"),
        ({"reward": np.array([0, np.nan])}, "row 1: reward holds nan"),
        ({"reward": np.array([0, 1e39])}, "row 1: reward holds 1e+39"),
        ({"observation": np.array([[0, 0], [1, np.inf], [0, 0]])}, "row 1: observation holds inf"),
        ({"action": np.array([0, 1, 2, 3])}, "{'action': 4} rows; allowed are 2, as of reward, or one more"),
    ],
)
def test_what_does_not_fit_is_named_with_file_row_field_got_and_allowed(change: Columns, message: str) -> None:
    with pytest.raises(SourceError) as refused:
        made(episode(2) | change)
    assert str(refused.value).startswith("demos.npz, episode 3")
    assert message in str(refused.value)


@pytest.mark.parametrize("name", ["observation", "action", "reward"])
def test_a_missing_column_is_named_with_those_that_are_there(name: str) -> None:
    columns = episode(2)
    del columns[name]
    with pytest.raises(SourceError, match=f"{name} is missing.*there are "):
        made(columns)


def test_without_a_spec_columns_stay_as_they_are_stored() -> None:
    columns = episode(2) | {"observation": np.arange(3, dtype=np.uint8)}
    rows = trajectory(Stored(columns, ""), None, 0)
    assert rows is not None
    assert rows["observation"].dtype == np.uint8
    assert rows["kind"].tolist() == [0, 0, RowKind.TERMINATED]
