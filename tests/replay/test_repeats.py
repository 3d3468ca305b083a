import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.replay.repeats import Repeats
from app.types import RowKind, Rows


def trajectory(episode: int, first: int, steps: int, kind: RowKind = RowKind.FULL) -> Rows:
    return {
        "kind": np.array([RowKind.STEP] * steps + [kind], np.int8),
        "episode": np.full(steps + 1, episode, np.int64),
        "tick": np.arange(first, first + steps + 1, dtype=np.int32),
    }


def taken_by(repeats: Repeats, rows: Rows) -> tuple[Rows, int]:
    """Takes rows; returns those that were new, and how many were not."""
    fresh = repeats.without(rows)
    repeats.note(fresh)
    return fresh.rows, fresh.repeated_rows


def joined(*parts: Rows) -> Rows:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def test_trajectories_that_follow_each_other_are_all_taken() -> None:
    repeats = Repeats()
    first = joined(trajectory(1, 0, 4), trajectory(2, 0, 3), trajectory(1, 4, 4))
    rows, repeated = taken_by(repeats, first)
    assert rows is first
    assert repeated == 0
    assert taken_by(repeats, trajectory(2, 3, 1))[1] == 0


def test_what_was_taken_is_dropped_with_its_bootstrap_row_and_what_follows_is_not() -> None:
    repeats = Repeats()
    taken_by(repeats, trajectory(1, 0, 8))
    rows, repeated = taken_by(
        repeats, joined(trajectory(1, 0, 5, RowKind.LOST), trajectory(1, 8, 2), trajectory(3, 0, 1))
    )
    assert repeated == 6
    assert rows["episode"].tolist() == [1, 1, 1, 3, 3]
    assert rows["tick"].tolist() == [8, 9, 10, 0, 1]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 10), st.integers(1, 4)), max_size=30))
def test_no_tick_of_an_episode_is_taken_twice(pushes: list[tuple[int, int, int]]) -> None:
    repeats, taken = Repeats(), set[tuple[int, int]]()
    for episode, first, steps in pushes:
        rows, repeated = taken_by(repeats, trajectory(episode, first, steps))
        steps_taken = rows["kind"] == RowKind.STEP
        ticks = set(zip(rows["episode"][steps_taken].tolist(), rows["tick"][steps_taken].tolist(), strict=True))
        assert not ticks & taken
        taken |= ticks
        assert repeated in (0, steps + 1)


def test_looking_for_repetitions_changes_nothing_until_the_rows_are_taken() -> None:
    repeats = Repeats()
    assert repeats.without(trajectory(1, 0, 3)).repeated_rows == 0
    assert taken_by(repeats, trajectory(1, 0, 3))[1] == 0
    assert repeats.without(trajectory(1, 0, 3)).repeated_rows == 4


def test_a_trajectory_that_comes_twice_in_one_push_is_taken_once() -> None:
    rows, repeated = taken_by(Repeats(), joined(trajectory(1, 0, 2), trajectory(1, 0, 2)))
    assert (len(rows["kind"]), repeated) == (3, 3)
