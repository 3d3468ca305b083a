from functools import partial
from itertools import count

import numpy as np
import pytest

from app.errors import CheckpointError
from app.replay.ancestry import Ancestry, Origin
from app.replay.importance import importance_weights
from app.replay.limiter import Limiter
from app.replay.limiters import MinSize, Queue, SamplesPerInsert
from app.replay.max_age import MaxAge
from app.replay.n_step import n_step, transition_columns
from app.replay.removers import RemoveOldest
from app.replay.sample import Keys
from app.replay.samplers import OldestFirst, Prioritized, UniformSampler
from app.replay.selectors import Sampler
from app.replay.sequences import Sequences
from app.replay.supply import WhenFull, joined
from app.replay.table import Table
from app.replay.table_supply import SAMPLE_COLUMNS, TableSupply
from app.types import RowKind, Rows, Version

from .rows import columns_of, trajectory

NUMBERS = count()


def push(steps: int, version: int = 0) -> Rows:
    rows = trajectory(NUMBERS, [1.0] * steps, RowKind.TERMINATED, episode=next(NUMBERS))
    return rows | {
        "generation": np.ones(steps + 1, np.int32),
        "version": np.full(steps + 1, version, np.int32),
    }


def supply(
    limiter: Limiter | None = None,
    sampler: Sampler | None = None,
    when_full: WhenFull = WhenFull.DROP_OLDEST,
    *,
    batch_items: int = 4,
    capacity: int = 100,
    beta: float | None = None,
    max_reuse: int | None = None,
    max_age: MaxAge | None = None,
    seed: int = 0,
) -> TableSupply:
    rng = np.random.default_rng(seed)
    table = Table(
        transition_columns(columns_of(push(1))),
        capacity,
        sampler=sampler or UniformSampler(),
        remover=RemoveOldest(),
        limiter=limiter or MinSize(1),
        largest_sample_rows=batch_items,
        rng=rng,
        max_reuse=max_reuse,
        max_age=max_age,
    )
    cut = partial(n_step, steps=2, gamma=0.5)
    return TableSupply(table, cut, batch_items, rng=rng, when_full=when_full, beta=beta, shard=3)


def queue(when_full: WhenFull) -> TableSupply:
    """Returns a queue of 8 items, batches of 4."""
    return supply(Queue(8), OldestFirst(), when_full, capacity=8, max_reuse=1)


def drawn(one: TableSupply) -> Rows:
    parts = one.draw()
    assert parts is not None
    return joined(parts)


def test_trajectories_are_cut_into_items_at_the_push() -> None:
    one = supply()
    one.insert(push(5))
    assert one.stats().held == 5
    rows = drawn(one)
    assert rows.keys() == transition_columns(columns_of(push(1))).keys() | SAMPLE_COLUMNS.keys()
    assert set(rows["reward"].tolist()) <= {1.5, 1.0}  # Two rewards and a discount of a half; one at the end.


def test_a_batch_waits_until_the_limiter_allows_it() -> None:
    one = supply(MinSize(6))
    one.insert(push(5))
    assert (one.batches(3), one.draw()) == (0, None)
    one.insert(push(1))
    assert one.batches(3) == 3
    assert len(drawn(one)["reward"]) == 4


def test_batches_of_distinct_items_are_told_as_far_as_they_reach() -> None:
    one = queue(WhenFull.REFUSE)
    one.insert(push(7))
    assert one.batches(5) == 1
    one.insert(push(1))
    assert one.batches(5) == 2


def test_items_that_the_limiter_keeps_out_wait_and_come_in_behind_a_batch() -> None:
    one = queue(WhenFull.REFUSE)
    assert one.insert(push(6))
    assert one.insert(push(4))
    assert (one.stats().held, one.stats().waiting) == (8, 2)
    drawn(one)
    assert (one.stats().held, one.stats().waiting) == (6, 0)


def test_a_table_refuses_a_push_while_another_one_waits() -> None:
    one = queue(WhenFull.REFUSE)
    one.insert(push(10))
    assert not one.insert(push(1))
    assert one.stats().dropped == 0
    drawn(one)
    assert one.insert(push(1))


@pytest.mark.parametrize(("when_full", "dropped"), [(WhenFull.DROP_OLDEST, 3), (WhenFull.DROP_NEWEST, 2)])
def test_what_waits_or_what_comes_is_dropped_and_counted(when_full: WhenFull, dropped: int) -> None:
    one = queue(when_full)
    first, second = push(11), push(2)
    assert one.insert(first)
    assert one.insert(second)
    stats = one.stats()
    assert (stats.dropped, stats.waiting, stats.held) == (dropped, 13 - 8 - dropped, 8)
    assert stats.inserted == 13
    drawn(one), drawn(one)
    kept = second["action"][:2] if when_full is WhenFull.DROP_OLDEST else first["action"][8:11]
    one.insert(push(4))
    assert drawn(one)["action"].tolist()[: len(kept)] == kept.tolist()


def test_a_push_larger_than_what_the_limiter_allows_never_blocks_for_ever() -> None:
    one = supply(SamplesPerInsert(1, 4, 6), when_full=WhenFull.REFUSE)
    assert one.insert(push(50))
    taken = 0
    while one.batches(1):
        taken += len(drawn(one)["reward"])
    assert one.stats().waiting == 0
    assert 48 <= taken <= 52  # One sample an item, up to 2 ahead.


def test_the_weights_of_a_batch_undo_the_bias_of_priorities() -> None:
    one = supply(sampler=Prioritized(exponent=1.0, epsilon=1e-3), beta=0.5)
    one.insert(push(8))
    rows = drawn(one)
    keys = Keys(rows["key_slot"].astype(np.intp), rows["key_number"].astype(np.int64))
    assert one.update_priorities(keys, np.arange(1.0, 5.0)) == 0
    rows = drawn(one)
    probabilities = rows["probability"].astype(np.float64)
    np.testing.assert_allclose(rows["weight"], importance_weights(probabilities, 8, 0.5), rtol=1e-6)
    assert set(rows["key_shard"].tolist()) == {3}


def test_a_priority_of_an_item_that_left_is_ignored() -> None:
    one = supply(sampler=Prioritized(exponent=1.0, epsilon=1e-3), capacity=4)
    one.insert(push(4))
    rows = drawn(one)
    one.insert(push(4))
    keys = Keys(rows["key_slot"].astype(np.intp), rows["key_number"].astype(np.int64))
    assert one.update_priorities(keys, np.ones(4)) == 4


def test_items_of_old_versions_leave_as_new_ones_are_published() -> None:
    one = supply(max_age=MaxAge(versions=1))
    for version in range(3):
        one.insert(push(2, version))
        one.advance(Version(1, version))
    assert one.stats().held == 4
    assert one.advance(Version(2, 0)) == 4


def test_a_restored_table_draws_what_the_other_one_would_have_drawn() -> None:
    first, second = supply(seed=1), supply(seed=2)
    first.insert(push(30))
    drawn(first)
    second.load_state_dict(first.state_dict())
    assert second.stats() == first.stats()
    for _ in range(3):
        np.testing.assert_equal(drawn(second), drawn(first))


def test_what_waits_is_restored_too() -> None:
    first, second = queue(WhenFull.REFUSE), queue(WhenFull.REFUSE)
    first.insert(push(11))
    second.load_state_dict(first.state_dict())
    assert second.stats() == first.stats()
    assert not second.insert(push(1))


def test_weights_of_sequences_are_those_of_their_items() -> None:
    sequences = Sequences(4, overlap_rows=1, burn_in_rows=0, burn_in_at_start=False)
    rng = np.random.default_rng(0)
    table = Table(
        sequences.columns(columns_of(push(1))),
        50,
        sampler=Prioritized(1.0, 1e-3),
        remover=RemoveOldest(),
        limiter=MinSize(1),
        largest_sample_rows=2,
        rng=rng,
    )
    one = TableSupply(table, sequences.cut, 2, rng=rng, when_full=WhenFull.REFUSE, beta=1.0)
    one.insert(push(8))
    rows = drawn(one)
    keys = Keys(rows["key_slot"].astype(np.intp), rows["key_number"].astype(np.int64))
    one.update_priorities(keys, np.array([1.0, 9.0]))
    rows = drawn(one)
    weight = rows["weight"]
    assert weight.shape == (2, 4)
    expected = importance_weights(rows["probability"].astype(np.float64), one.stats().held, 1.0)
    np.testing.assert_allclose(weight.max(axis=1), expected, rtol=1e-6)


def test_items_that_came_before_follow_behind_those_of_a_table_that_is_taken_over() -> None:
    saved, fresh = supply(sampler=OldestFirst()), supply(sampler=OldestFirst())
    saved.insert(push(3, version=1))
    fresh.insert(push(2, version=2))
    assert fresh.take_over(saved.state_dict()) == 3
    fresh.insert(push(1, version=3))
    assert drawn(fresh)["version"].tolist() == [1, 1, 1, 2]
    assert fresh.stats().held == 6


def test_a_table_that_was_taken_over_draws_what_the_other_one_would_have_drawn() -> None:
    saved, fresh = (supply(sampler=Prioritized(0.6, 1e-6), seed=seed) for seed in (1, 2))
    saved.insert(push(20))
    drawn(saved)
    fresh.take_over(saved.state_dict())
    assert fresh.stats() == saved.stats()
    np.testing.assert_equal(drawn(fresh), drawn(saved))


def test_nothing_is_lost_that_the_limiter_of_a_table_that_is_taken_over_does_not_let_in() -> None:
    limiter = partial(SamplesPerInsert, 1, min_size_rows=4, error_buffer=6)
    saved, fresh = supply(limiter()), supply(limiter())
    saved.insert(push(20))
    held, waiting = saved.stats().held, saved.stats().waiting
    assert (held, waiting) == (10, 10)  # 1 · 10 - 0 has reached max_diff, 4 + 6.
    fresh.insert(push(5))
    assert fresh.take_over(saved.state_dict()) == 10
    assert (fresh.stats().held, fresh.stats().waiting, fresh.stats().dropped) == (10, 15, 0)
    drawn(fresh)
    assert (fresh.stats().held, fresh.stats().waiting) == (14, 11)


def test_a_table_in_use_takes_over_no_other() -> None:
    saved, used = supply(), supply()
    for one in (saved, used):
        one.insert(push(8))
    drawn(used)
    with pytest.raises(CheckpointError, match="a table of which 4 items were sampled takes over no other"):
        used.take_over(saved.state_dict())
    assert used.stats().held == 8


def test_a_table_that_is_taken_over_knows_the_version_that_was_told_before() -> None:
    saved, fresh = supply(max_age=MaxAge(versions=1)), supply(max_age=MaxAge(versions=1))
    for version in range(3):
        saved.insert(push(1, version))
    went_on = Ancestry((Origin(2, Version(1, 2)),))
    fresh.advance(Version(2, 0), went_on)
    assert fresh.take_over(saved.state_dict()) == 3
    assert fresh.stats().held == 2  # That of 1.0 is two versions old.
