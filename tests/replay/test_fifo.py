from collections.abc import Iterator
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.fifo import Fifo
from app.types import RowKind, Rows

STEP, FULL, TERMINATED, TRUNCATED, LOST = RowKind


def trajectories(numbers: Iterator[int], *lengths: int, end: RowKind = TERMINATED) -> Rows:
    """Returns trajectories of so many steps, each with its bootstrap row; ``tick`` tells every row apart."""
    kinds = [kind for steps in lengths for kind in [STEP] * steps + [end]]
    tick = [next(numbers) for _ in kinds]
    return {
        "kind": np.array(kinds, np.int8),
        "weight": np.array([kind is STEP for kind in kinds], np.float32),
        "tick": np.array(tick, np.int32),
        "observation": np.array([[at, -at] for at in tick], np.float32).reshape(-1, 2),
    }


def ticks(rows: Rows | None) -> list[int]:
    assert rows is not None
    return [int(tick) for tick in rows["tick"]]


def kinds(rows: Rows | None) -> list[int]:
    assert rows is not None
    return [int(kind) for kind in rows["kind"]]


def numbers_of(fifo: Fifo) -> tuple[int, int, int, int]:
    return fifo.counts.inserted, fifo.counts.popped, fifo.counts.dropped, len(fifo)


def test_rows_leave_in_the_order_in_which_they_came() -> None:
    fifo, numbers = Fifo(100, 2), count()
    fifo.insert(trajectories(numbers, 1, 2))
    fifo.insert(trajectories(numbers, 1))
    got = fifo.pop(7)
    assert ticks(got) == [0, 1, 2, 3, 4, 5, 6]
    assert kinds(got) == [STEP, TERMINATED, STEP, STEP, TERMINATED, STEP, TERMINATED]
    assert numbers_of(fifo) == (7, 7, 0, 0)


def test_nothing_leaves_before_a_whole_batch_is_there() -> None:
    fifo = Fifo(100, 2)
    fifo.insert(trajectories(count(), 3))
    assert fifo.pop(5) is None
    assert len(fifo) == 4
    assert len(ticks(fifo.pop(4))) == 4


def test_a_trajectory_that_does_not_fit_is_split_and_both_parts_bootstrap() -> None:
    fifo = Fifo(100, 2)
    fifo.insert(trajectories(count(), 4))
    first, second = fifo.pop(3), fifo.pop(3)
    assert first is not None
    assert second is not None
    assert kinds(first) == [STEP, STEP, FULL]
    assert ticks(first) == [0, 1, 2]
    assert first["weight"].tolist() == [1, 1, 0]
    assert first["observation"][2].tolist() == second["observation"][0].tolist()
    assert kinds(second) == [STEP, STEP, TERMINATED]
    assert ticks(second) == [2, 3, 4]
    assert second["weight"].tolist() == [1, 1, 0]
    assert numbers_of(fifo) == (5, 5, 0, 0)


def test_a_batch_that_ends_with_a_trajectory_is_not_split() -> None:
    fifo = Fifo(100, 2)
    fifo.insert(trajectories(count(), 2, 2))
    assert kinds(fifo.pop(3)) == [STEP, STEP, TERMINATED]
    assert ticks(fifo.pop(3)) == [3, 4, 5]


def test_what_was_pushed_stays_as_it_was() -> None:
    fifo, pushed = Fifo(100, 2), trajectories(count(), 4)
    before = {name: column.copy() for name, column in pushed.items()}
    fifo.insert(pushed)
    fifo.pop(3)
    assert all(np.array_equal(pushed[name], before[name]) for name in before)


def test_the_oldest_trajectory_is_dropped_whole_and_counted() -> None:
    fifo, numbers = Fifo(6, 3), count()
    fifo.insert(trajectories(numbers, 2))
    fifo.insert(trajectories(numbers, 2))
    assert numbers_of(fifo) == (6, 0, 0, 6)
    fifo.insert(trajectories(numbers, 1))
    assert numbers_of(fifo) == (8, 0, 3, 5)
    assert ticks(fifo.pop(5)) == [3, 4, 5, 6, 7]


def test_a_push_that_holds_many_trajectories_loses_only_the_oldest() -> None:
    fifo = Fifo(6, 2)
    fifo.insert(trajectories(count(), 2, 1, 2, 1))
    assert numbers_of(fifo) == (10, 0, 5, 5)
    assert ticks(fifo.pop(5)) == [5, 6, 7, 8, 9]


def test_what_a_whole_batch_needs_is_never_dropped() -> None:
    fifo, numbers = Fifo(6, 6), count()
    fifo.insert(trajectories(numbers, 3))
    fifo.insert(trajectories(numbers, 3))  # Without the first 4 there would be no batch of 6.
    assert numbers_of(fifo) == (8, 0, 0, 8)
    fifo.insert(trajectories(numbers, 1))
    assert numbers_of(fifo) == (10, 0, 4, 6)


def test_of_a_split_trajectory_only_what_is_left_is_dropped() -> None:
    fifo, numbers = Fifo(8, 2), count()
    fifo.insert(trajectories(numbers, 4))
    assert ticks(fifo.pop(3)) == [0, 1, 2]
    fifo.insert(trajectories(numbers, 5))
    assert numbers_of(fifo) == (11, 2, 3, 6)
    assert ticks(fifo.pop(6)) == [5, 6, 7, 8, 9, 10]


def test_an_empty_push_is_nothing() -> None:
    fifo = Fifo(6, 2)
    fifo.insert(trajectories(count()))
    assert numbers_of(fifo) == (0, 0, 0, 0)


def test_a_push_that_ends_in_a_step_is_refused_and_leaves_nothing_behind() -> None:
    fifo, rows = Fifo(6, 2), trajectories(count(), 2)
    with pytest.raises(ValueError, match="the last row is a step"):
        fifo.insert({name: column[:2] for name, column in rows.items()})
    assert numbers_of(fifo) == (0, 0, 0, 0)


@pytest.mark.parametrize(("capacity", "keep"), [(5, 6), (5, 1)])
def test_impossible_bounds_are_refused(capacity: int, keep: int) -> None:
    with pytest.raises(ValueError, match=rf"2 <= keep_rows <= capacity_rows, got {keep} and {capacity}"):
        Fifo(capacity, keep)


class Reference:
    """The same queue as plain lists: slow, and easy to follow."""

    def __init__(self, capacity: int, keep: int) -> None:
        self.capacity, self.keep = capacity, keep
        self.rows: list[tuple[int, int]] = []
        self.dropped: list[int] = []

    def insert(self, rows: Rows) -> None:
        self.rows += zip(ticks(rows), kinds(rows), strict=True)
        while len(self.rows) > self.capacity:
            size = 1 + next(at for at, (_, kind) in enumerate(self.rows) if kind != STEP)
            if len(self.rows) - size < self.keep:
                return
            self.dropped += [tick for tick, kind in self.rows[:size] if kind == STEP]
            self.rows = self.rows[size:]

    def pop(self, size: int) -> list[tuple[int, int]] | None:
        if len(self.rows) < size:
            return None
        batch, self.rows = self.rows[:size], self.rows[size:]
        if batch[-1][1] == STEP:
            self.rows.insert(0, batch[-1])
            batch[-1] = (batch[-1][0], FULL)
        return batch


pushes = st.lists(st.integers(0, 6), max_size=4)


@given(st.integers(2, 9), st.integers(0, 12), st.lists(pushes | st.none(), max_size=40))
def test_any_pushes_and_pops_agree_with_plain_lists(batch: int, spare: int, orders: list[list[int] | None]) -> None:
    fifo, reference, numbers = Fifo(batch + spare, batch), Reference(batch + spare, batch), count()
    pushed: list[int] = []
    trained: list[int] = []
    for order in orders:
        if order is None:
            got, expected = fifo.pop(batch), reference.pop(batch)
            assert (got is None) == (expected is None)
            if got is not None and expected is not None:
                assert list(zip(ticks(got), kinds(got), strict=True)) == expected
                assert got["weight"].tolist() == [kind == STEP for _, kind in expected]
                assert got["observation"][:, 0].tolist() == ticks(got)
                trained += [tick for tick, kind in expected if kind == STEP]
        else:
            rows = trajectories(numbers, *order)
            pushed += [tick for tick, kind in zip(ticks(rows), kinds(rows), strict=True) if kind == STEP]
            fifo.insert(rows)
            reference.insert(rows)
        assert len(fifo) == len(reference.rows)
        assert fifo.counts.inserted == fifo.counts.popped + fifo.counts.dropped + len(fifo)
    held = [tick for tick, kind in reference.rows if kind == STEP]
    assert sorted(trained + reference.dropped + held) == pushed
