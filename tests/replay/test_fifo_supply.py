from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.fifo_supply import FifoSupply
from app.replay.sample import Keys
from app.replay.supply import Parts, WhenFull, joined
from app.types import RowKind, Rows, Version

from .rows import columns_of, trajectory

NUMBERS = count()


def push(*steps: int) -> Rows:
    parts = [trajectory(NUMBERS, [1.0] * length, RowKind.TERMINATED, episode=next(NUMBERS)) for length in steps]
    return joined(parts)


def numbers(parts: Parts | None) -> list[int]:
    assert parts is not None
    return joined(parts)["action"].tolist()


def test_a_full_queue_lets_go_of_its_oldest_trajectories() -> None:
    queue = FifoSupply(4, 4, 8, WhenFull.DROP_OLDEST)
    assert all(queue.insert(push(3)) for _ in range(3))
    assert (queue.stats().dropped, queue.stats().held) == (4, 8)


def test_a_full_queue_lets_in_the_first_trajectories_of_a_push_that_fit() -> None:
    queue = FifoSupply(4, 4, 8, WhenFull.DROP_NEWEST)
    assert queue.insert(push(3))
    rows = push(1, 1, 1)
    assert queue.insert(rows)
    assert (queue.stats().dropped, queue.stats().held, queue.stats().inserted) == (2, 8, 10)
    queue.draw()
    assert numbers(queue.draw()) == rows["action"][:4].tolist()


def test_a_full_queue_refuses_a_push_until_there_is_room() -> None:
    queue = FifoSupply(4, 4, 8, WhenFull.REFUSE)
    assert queue.insert(push(3))
    assert queue.insert(push(3))
    assert not queue.insert(push(3))
    assert queue.stats().inserted == 8
    queue.draw()
    assert queue.insert(push(3))


@pytest.mark.parametrize("when_full", list(WhenFull))
def test_what_a_batch_still_lacks_is_taken_whatever_its_size(when_full: WhenFull) -> None:
    queue = FifoSupply(4, 4, 4, when_full)
    assert queue.insert(push(2))
    assert queue.batches(1) == 0
    assert queue.insert(push(9))
    assert queue.batches(9) >= 1


def test_no_more_batches_are_told_than_are_asked_for() -> None:
    queue = FifoSupply(4, 4, 100, WhenFull.DROP_OLDEST)
    queue.insert(push(20))
    assert [queue.batches(limit) for limit in (0, 1, 3, 9)] == [0, 1, 3, 5]


def test_a_batch_is_views_of_what_was_pushed() -> None:
    queue, rows = FifoSupply(4, 4, 100, WhenFull.DROP_OLDEST), push(7)
    queue.insert(rows)
    parts = queue.draw()
    assert parts is not None
    assert np.shares_memory(parts[0]["observation/map"], rows["observation/map"])
    assert parts[0]["kind"].tolist() == [RowKind.STEP] * 3 + [RowKind.FULL]
    assert rows["kind"].tolist() == [RowKind.STEP] * 7 + [RowKind.TERMINATED]  # What was pushed is not written to.


@given(st.lists(st.one_of(st.integers(1, 9), st.none()), max_size=40), st.sampled_from(list(WhenFull)))
def test_every_row_is_accounted_for_and_the_queue_stays_small(acts: list[int | None], when_full: WhenFull) -> None:
    queue, refused = FifoSupply(4, 8, 16, when_full), 0
    given_rows = 0
    for steps in acts:
        if steps is None:
            queue.draw()
            continue
        rows = push(steps)
        if queue.insert(rows):
            given_rows += len(rows["kind"])
        else:
            refused += 1
        stats = queue.stats()
        assert stats.inserted == given_rows == stats.popped + stats.dropped + stats.held
        assert stats.held <= 16 + 10
    assert not refused or when_full is WhenFull.REFUSE


def test_priorities_and_versions_mean_nothing_to_a_queue() -> None:
    queue = FifoSupply(4, 4, 100, WhenFull.DROP_OLDEST)
    assert queue.update_priorities(Keys(np.zeros(2, np.intp), np.zeros(2, np.int64)), np.ones(2)) == 2
    assert queue.advance(Version(1, 1)) == 0


def test_a_queue_that_could_drop_what_a_batch_needs_is_refused() -> None:
    with pytest.raises(ValueError, match="at least a batch of 4 rows, got keep_rows 3"):
        FifoSupply(4, 3, 8, WhenFull.DROP_OLDEST)


def test_columns_are_those_of_the_rows() -> None:
    queue, rows = FifoSupply(4, 4, 8, WhenFull.DROP_OLDEST), push(7)
    queue.insert(rows)
    assert columns_of(joined(queue.draw() or [])) == columns_of(rows)


def of_version(rows: int, version: int) -> Rows:
    made = push(rows - 1)
    return made | {"generation": np.full(rows, 1, np.int32), "version": np.full(rows, version, np.int32)}


def test_where_games_wait_rows_of_older_versions_are_dropped_and_what_is_missing_is_told() -> None:
    queue = FifoSupply(4, 8, 16, WhenFull.DROP_OLDEST, one_version=True)
    queue.insert(of_version(5, 0))
    assert (queue.missing(Version(1, 0)), queue.missing(Version(1, 1))) == (3, 8)
    queue.insert(of_version(3, 1))
    assert (queue.missing(Version(1, 0)), queue.missing(Version(1, 1))) == (0, 5)
    assert (queue.stats().held, queue.stats().dropped) == (3, 5)
    queue.insert(of_version(4, 0))
    assert (queue.stats().held, queue.stats().dropped) == (3, 9)
    queue.insert(joined([of_version(2, 0), of_version(5, 1)]))  # Sent together, as they came.
    assert (queue.stats().held, queue.stats().dropped) == (8, 11)
    assert queue.missing(Version(1, 1)) == 0
    assert queue.draw() is not None
    assert queue.missing(Version(1, 1)) == 0  # Learned from is not missing.


def test_a_version_hands_out_a_batch_for_each_worker_and_what_comes_beyond_is_dropped() -> None:
    queue = FifoSupply(4, 8, 16, WhenFull.REFUSE, one_version=True)
    rows = joined([of_version(3, 0), of_version(30, 0), of_version(2, 0)])  # The second trajectory fills both batches.
    assert queue.insert(rows)
    assert queue.insert(of_version(20, 0))
    assert (queue.stats().held, queue.stats().dropped) == (33, 22)
    assert queue.batches(9) == 2
    assert queue.draw() is not None
    assert queue.draw() is not None
    assert queue.batches(9) == 0  # 25 rows are left of that trajectory, and nobody learns from them.
    assert queue.draw() is None
    queue.insert(of_version(8, 1))
    assert queue.batches(9) == 2
    assert (queue.stats().held, queue.stats().inserted) == (8, 63)


def test_what_a_version_still_lacks_is_never_refused() -> None:
    queue = FifoSupply(4, 8, 8, WhenFull.REFUSE, one_version=True)
    assert queue.insert(of_version(5, 0))
    assert queue.insert(of_version(9, 0))
    assert queue.batches(9) == 2


def test_missing_rows_are_asked_of_one_replica() -> None:
    queue, version = FifoSupply(4, 8, 16, WhenFull.DROP_OLDEST, one_version=True), Version(1, 0)
    queue.insert(of_version(5, 0))
    assert [queue.claim(claimer, version, 10.0) for claimer in "abc"] == [3, 0, 0]
    queue.insert(of_version(2, 0))
    assert queue.claim("a", version, 10.1) == 1  # It has played what it was asked for, and a row was lost.
    queue.insert(of_version(2, 0))
    assert queue.claim("b", version, 99.0) == 0
    assert queue.claim("b", Version(0, 9), 99.0) == 0
    assert queue.claim("b", Version(1, 1), 99.0) == 8  # Nothing has come of it.


@given(st.data())
def test_however_often_rows_are_played_each_version_is_learned_from_as_often_as_there_are_workers(
    data: st.DataObject,
) -> None:
    workers = data.draw(st.integers(1, 3))
    queue = FifoSupply(4, 4 * workers, 4 * workers, WhenFull.DROP_OLDEST, one_version=True)
    learned: dict[int, int] = {}
    newest = 0
    for _ in range(data.draw(st.integers(1, 40))):
        act = data.draw(st.sampled_from(["play", "learn", "publish"]))
        if act == "publish":
            newest += 1
        elif act == "play":
            queue.insert(of_version(data.draw(st.integers(2, 30)), data.draw(st.integers(max(0, newest - 1), newest))))
        elif (parts := queue.draw()) is not None:
            (version,) = set(joined(parts)["version"].tolist())
            learned[version] = learned.get(version, 0) + 1
        stats = queue.stats()
        assert stats.inserted == stats.popped + stats.dropped + stats.held
        assert stats.held < 4 * workers + 30
    assert all(batches <= workers for batches in learned.values())
