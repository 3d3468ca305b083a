from itertools import count

import numpy as np
import pytest

from app.errors import CheckpointError
from app.replay.ancestry import Ancestry, Origin
from app.replay.limiters import MinSize, Queue, SamplesPerInsert
from app.replay.max_age import MaxAge
from app.replay.n_step import n_step, transition_columns
from app.replay.removers import RemoveLowestPriority, RemoveOldest, RemoveUniform
from app.replay.repeats import Repeats
from app.replay.sample import Sample
from app.replay.samplers import NewestFirst, OldestFirst, Prioritized, UniformSampler
from app.replay.selectors import Remover, Sampler
from app.replay.sequences import Sequences
from app.replay.table import Table
from app.replay.table_stats import Removal
from app.types import RowKind, Rows, Version
from tests.replay.rows import columns_of, joined, trajectory

COLUMNS = {name: (np.dtype(np.int64), ()) for name in ("number", "generation", "version")}


def rows_of(*numbers: int, generation: int = 1, version: int = 0) -> Rows:
    at = np.array(numbers, np.int64)
    return {"number": at, "generation": np.full_like(at, generation), "version": np.full_like(at, version)}


def numbers_of(sample: Sample | None) -> list[int]:
    assert sample is not None
    return [int(number) for number in sample.rows["number"]]


def table_of(
    capacity: int,
    sampler: Sampler,
    remover: Remover | None = None,
    *,
    limiter: MinSize | SamplesPerInsert | Queue | None = None,
    largest: int = 1,
    seed: int = 0,
    max_reuse: int | None = None,
    max_age: MaxAge | None = None,
) -> Table:
    return Table(
        COLUMNS,
        capacity,
        sampler=sampler,
        remover=RemoveOldest() if remover is None else remover,
        limiter=MinSize(1) if limiter is None else limiter,
        largest_sample_rows=largest,
        rng=np.random.default_rng(seed),
        max_reuse=max_reuse,
        max_age=max_age,
    )


def removed(table: Table) -> dict[str, int]:
    return {str(reason): rows for reason, rows in table.stats().removed.items() if rows}


def test_the_oldest_rows_make_room_and_are_counted() -> None:
    table = table_of(4, OldestFirst(), largest=4)
    assert table.insert(rows_of(0, 1, 2)) == 3
    assert table.insert(rows_of(3, 4, 5)) == 3
    assert numbers_of(table.sample(4)) == [2, 3, 4, 5]
    assert removed(table) == {"overwritten": 2}


def test_one_insert_may_be_larger_than_the_table() -> None:
    table = table_of(4, OldestFirst(), largest=4)
    assert table.insert(rows_of(*range(11))) == 11
    assert numbers_of(table.sample(4)) == [7, 8, 9, 10]
    assert removed(table) == {"overwritten": 7}


def test_newest_first_hands_out_the_last_rows_and_drops_exactly_what_is_too_much() -> None:
    table = table_of(5, NewestFirst(), largest=3)
    for start in range(0, 12, 3):
        table.insert(rows_of(*range(start, start + 3)))
        assert numbers_of(table.sample(3)) == [start + 2, start + 1, start]
        assert table.stats().removed[Removal.OVERWRITTEN] == max(0, start + 3 - 5)


def test_a_queue_hands_out_each_row_exactly_once_in_order_and_blocks_instead_of_dropping() -> None:
    table = table_of(4, OldestFirst(), limiter=Queue(4), largest=3, max_reuse=1)
    assert table.insert(rows_of(*range(6))) == 4
    assert table.insert(rows_of(4, 5)) == 0
    assert numbers_of(table.sample(3)) == [0, 1, 2]
    assert table.sample(2) is None
    assert table.insert(rows_of(4, 5, 6, 7)) == 3
    assert numbers_of(table.sample(3)) == [3, 4, 5]
    assert removed(table) == {"reused": 6}


def test_a_row_leaves_after_so_many_samples_even_within_one_batch() -> None:
    table = table_of(4, UniformSampler(), limiter=MinSize(4), largest=4, max_reuse=2)
    table.insert(rows_of(0, 1, 2, 3))
    first = numbers_of(table.sample(4))
    assert max(first.count(number) for number in range(4)) <= 2
    assert removed(table).get("reused", 0) == sum(first.count(number) == 2 for number in range(4))
    table.insert(rows_of(*range(4, 4 + 4 - len(table))))
    both = first + numbers_of(table.sample(4))
    assert max(both.count(number) for number in both) <= 2


def test_a_batch_that_empties_the_table_holds_every_row_as_often_as_it_may_be_sampled() -> None:
    for seed in range(20):
        table = table_of(3, Prioritized(1.0, 0.1), limiter=MinSize(3), largest=3, max_reuse=1, seed=seed)
        table.insert(rows_of(0, 1, 2), np.array([1.0, 50.0, 3.0]))
        assert sorted(numbers_of(table.sample(3))) == [0, 1, 2]
        assert len(table) == 0


def test_a_priority_for_a_row_that_was_overwritten_is_ignored_and_counted() -> None:
    table = table_of(2, Prioritized(1.0, 1e-9), largest=2)
    table.insert(rows_of(0, 1), np.array([1.0, 1.0]))
    old = table.sample(2)
    assert old is not None
    table.insert(rows_of(2), np.array([0.0]))  # Into the slot of row 0.
    assert sorted(old.keys.numbers.tolist()) == [0, 1]
    assert table.update(old.keys, np.array([1e6, 1e6])) == 1
    for _ in range(50):
        assert numbers_of(table.sample(2)) == [1, 1]  # Row 2 kept its priority of 0.
    assert table.stats().updates_ignored == 1


def test_a_row_that_left_and_whose_slot_is_free_is_ignored_too() -> None:
    table = table_of(2, Prioritized(1.0, 1e-9), largest=1, max_reuse=1)
    table.insert(rows_of(0, 1))
    sample = table.sample(1)
    assert sample is not None
    assert table.update(sample.keys, np.array([5.0])) == 1
    assert table.delete(sample.keys) == 0
    assert numbers_of(table.sample(1)) == [1 - numbers_of(sample)[0]]


def test_rows_without_a_priority_get_the_highest_known() -> None:
    table = table_of(3, Prioritized(1.0, 1e-9), largest=1)
    table.insert(rows_of(0))
    sample = table.sample(1)
    assert sample is not None
    assert sample.probabilities.tolist() == [1.0]
    table.update(sample.keys, np.array([7.0]))
    table.insert(rows_of(1), np.array([1.0]))
    table.insert(rows_of(2))
    chances: dict[int, float] = {}
    while len(chances) < 3:
        sample = table.sample(1)
        assert sample is not None
        chances[numbers_of(sample)[0]] = float(sample.probabilities[0])
    assert chances == pytest.approx({0: 7 / 15, 1: 1 / 15, 2: 7 / 15})


def test_rows_are_drawn_by_their_present_priorities_in_a_ring_that_was_written_over() -> None:
    table = table_of(13, Prioritized(1.0, 0.5), largest=130, seed=8)
    table.insert(rows_of(*range(10)), np.arange(10.0))
    first = table.sample(130)
    assert first is not None
    table.insert(rows_of(*range(10, 23)), np.full(13, 2.0))  # Rows 0 … 9 are gone.
    assert table.update(first.keys, np.full(130, 99.0)) == 130
    second = table.sample(130)
    assert second is not None
    table.update(second.keys, np.array([float(number - 10) for number in numbers_of(second)]))
    changed = set(numbers_of(second))
    mass = np.array([number - 10 + 0.5 if number in changed else 2.5 for number in range(10, 23)])
    found = np.zeros(13)
    for _ in range(100):
        found += np.bincount(np.array(numbers_of(table.sample(130))) - 10, minlength=13)
    expected = mass / mass.sum() * found.sum()
    assert ((found - expected) ** 2 / expected).sum() < 32.91  # Exceeded once in 1,000 times by independent draws.
    assert len(changed) == 13


def test_the_lowest_priorities_make_room() -> None:
    table = table_of(3, OldestFirst(), RemoveLowestPriority(), largest=3)
    table.insert(rows_of(0, 1, 2), np.array([5.0, 1.0, 3.0]))
    table.insert(rows_of(3), np.array([0.0]))
    assert numbers_of(table.sample(3)) == [0, 2, 3]
    first = table.sample(1)
    assert first is not None
    table.update(first.keys, np.array([0.5]))
    table.insert(rows_of(4, 5), np.array([9.0, 9.0]))
    assert numbers_of(table.sample(3)) == [2, 4, 5]


def test_rows_that_too_many_others_came_after_leave() -> None:
    table = table_of(10, OldestFirst(), largest=3, max_age=MaxAge(inserts=2))
    table.insert(rows_of(0, 1))
    table.insert(rows_of(2, 3))
    assert numbers_of(table.sample(3)) == [1, 2, 3]
    table.insert(rows_of(*range(4, 11)))
    assert numbers_of(table.sample(3)) == [8, 9, 10]
    assert removed(table) == {"old_by_inserts": 8}


def test_rows_of_old_versions_leave_when_a_new_one_is_known_and_when_they_come_late() -> None:
    table = table_of(10, OldestFirst(), largest=4, max_age=MaxAge(versions=2))
    for version in range(4):
        table.insert(rows_of(version, version=version))
    assert table.advance(Version(1, 4)) == 2
    assert numbers_of(table.sample(2)) == [2, 3]
    assert table.advance(Version(1, 3)) == 0  # What is known does not become older.
    assert table.insert(rows_of(10, 11, version=1)) == 2
    assert len(table) == 2
    assert table.advance(Version(2, 0)) == 2  # Another generation.
    assert removed(table) == {"old_by_versions": 6}


def test_rows_of_the_generation_before_count_by_the_version_that_the_new_one_went_on_from() -> None:
    table = table_of(10, OldestFirst(), largest=4, max_age=MaxAge(versions=2))
    for version in range(5):
        table.insert(rows_of(version, version=version))
    table.advance(Version(1, 4))
    went_on = Ancestry((Origin(2, Version(1, 3)),))
    assert table.advance(Version(2, 0), went_on) == 0  # The rows of 1.2 and 1.3, and of 1.4, whose update is lost.
    assert table.advance(Version(2, 1), went_on) == 0
    assert table.advance(Version(2, 2), went_on) == 2  # 1.2 and 1.4 are 1 + 2 versions away.
    assert numbers_of(table.sample(1)) == [3]
    assert table.insert(rows_of(10, version=3)) == 1  # Of the generation before, and late.
    assert len(table) == 2


def test_a_table_that_was_saved_knows_what_its_generations_went_on_from() -> None:
    table = table_of(10, OldestFirst(), largest=4, max_age=MaxAge(versions=5))
    table.insert(rows_of(0, version=4))
    table.advance(Version(2, 1), Ancestry((Origin(2, Version(1, 4)),)))
    other = table_of(10, OldestFirst(), largest=4, max_age=MaxAge(versions=5))
    other.load_state_dict(table.state_dict())
    assert other.advance(Version(3, 4), Ancestry((Origin(3, Version(2, 1)),))) == 0  # 1 + 4 versions away.
    assert other.advance(Version(3, 5)) == 1


def test_a_sequence_is_as_old_as_its_first_row() -> None:
    columns = {name: (np.dtype(np.int32), (3,)) for name in ("generation", "version")}
    table = Table(
        columns,
        4,
        sampler=OldestFirst(),
        remover=RemoveOldest(),
        limiter=MinSize(1),
        largest_sample_rows=1,
        rng=np.random.default_rng(0),
        max_age=MaxAge(versions=1),
    )
    versions = np.array([[0, 0, 3], [2, 3, 3]], np.int32)
    table.insert({"generation": np.ones((2, 3), np.int32), "version": versions})
    assert table.advance(Version(1, 3)) == 1
    sample = table.sample(1)
    assert sample is not None
    assert sample.rows["version"].tolist() == [[2, 3, 3]]


def test_samples_per_insert_stay_within_the_error_buffer() -> None:
    table = table_of(100, UniformSampler(), limiter=SamplesPerInsert(2.0, 5, 6.0), largest=10)
    assert not table.can_sample(1)
    assert table.insert(rows_of(*range(50))) == 8  # 2 · 8 = 16 <= 2 · 5 + 6.
    assert table.insert(rows_of(8)) == 0
    assert table.sample(10) is not None
    assert table.sample(10) is None  # 16 - 20 is below 2 · 5 - 6.
    assert table.insertable_rows() == 5
    stats = table.stats()
    assert (stats.inserted, stats.sampled, stats.held) == (8, 10, 8)
    assert stats.samples_per_insert == 1.25


def test_a_table_that_has_nothing_says_so() -> None:
    table = table_of(4, UniformSampler())
    assert table.sample(1) is None
    stats = table.stats()
    assert np.isnan(stats.samples_per_insert)
    assert np.isnan(stats.mean_age_inserts)
    assert len(table) == stats.inserted == sum(stats.removed.values()) == 0


def test_the_mean_age_is_how_many_rows_came_after_on_average() -> None:
    table = table_of(3, UniformSampler())
    table.insert(rows_of(*range(5)))
    assert table.stats().mean_age_inserts == 1.0


def test_rows_may_be_deleted_by_name() -> None:
    table = table_of(3, OldestFirst(), largest=2)
    table.insert(rows_of(0, 1, 2))
    sample = table.sample(2)
    assert sample is not None
    assert table.delete(sample.keys) == 2
    assert table.delete(sample.keys) == 0
    assert numbers_of(table.sample(1)) == [2]
    assert removed(table) == {"deleted": 2}


def test_the_windows_of_a_full_ring_never_mix_trajectories_nor_meet_the_place_that_is_written() -> None:
    numbers = count()
    columns = transition_columns(columns_of(trajectory(count(), [1], RowKind.FULL)))
    table = Table(
        columns,
        7,
        sampler=OldestFirst(),
        remover=RemoveOldest(),
        limiter=MinSize(1),
        largest_sample_rows=7,
        rng=np.random.default_rng(0),
    )
    for episode in range(9):  # 4 transitions each into 7 slots: the ring is written over at every place.
        rows = trajectory(numbers, [1, 1, 1, 1], RowKind.FULL, episode=episode)
        table.insert(n_step(rows, 3, 0.5))
    sample = table.sample(7)
    assert sample is not None
    full = sample.rows["discount"] == 0.125
    assert full.sum() == 3  # Ticks 1 of the last episode but one, 0 and 1 of the last.
    assert sample.rows["reward"][full].tolist() == [1.75] * 3  # The target is 1.75 + 0.125 · Q.
    reached = sample.rows["next_observation/units"][:, 0] - sample.rows["observation/units"][:, 0]
    assert reached[full].tolist() == [3.0] * 3
    assert reached.min() >= 1
    assert reached.max() == 3
    # 5 rows an episode: the state that was reached is of the same one.
    assert (sample.rows["next_observation/units"][:, 0] // 5 == sample.rows["episode"]).all()


def test_sequences_are_items_too() -> None:
    rows, cut = trajectory(count(), [0] * 9, RowKind.TERMINATED), Sequences(4, 2, 1, burn_in_at_start=True)
    table = Table(
        cut.columns(columns_of(rows)),
        10,
        sampler=OldestFirst(),
        remover=RemoveOldest(),
        limiter=MinSize(1),
        largest_sample_rows=4,
        rng=np.random.default_rng(0),
    )
    assert table.insert(cut.cut(rows)) == 4
    sample = table.sample(4)
    assert sample is not None
    assert sample.rows["action"].tolist() == [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7], [6, 7, 8, 9]]
    assert sample.rows["state/0"].tolist() == [[0], [20], [40], [60]]


def test_a_push_that_is_sent_again_is_kept_once() -> None:
    pushed, repeats = trajectory(count(), [0] * 4, RowKind.FULL), Repeats()
    table = Table(
        transition_columns(columns_of(pushed)),
        100,
        sampler=OldestFirst(),
        remover=RemoveOldest(),
        limiter=MinSize(1),
        largest_sample_rows=9,
        rng=np.random.default_rng(0),
    )
    for push in (pushed, pushed, joined(pushed, trajectory(count(50), [0] * 2, RowKind.FULL, first_tick=4))):
        fresh = repeats.without(push)
        table.insert(n_step(fresh.rows, 2, 0.9))
        repeats.note(fresh)
    sample = table.sample(6)
    assert sample is not None
    assert sample.rows["tick"].tolist() == [0, 1, 2, 3, 4, 5]
    assert len(table) == 6


def test_a_restored_table_goes_on_as_if_nothing_had_happened() -> None:
    def make() -> tuple[Table, np.random.Generator]:
        rng = np.random.default_rng(4)
        table = Table(
            COLUMNS,
            20,
            sampler=Prioritized(0.6, 1e-6),
            remover=RemoveUniform(),
            limiter=SamplesPerInsert(2, 8, 60),
            largest_sample_rows=8,
            rng=rng,
            max_reuse=9,
            max_age=MaxAge(inserts=70, versions=3),
        )
        return table, rng

    def play(table: Table, rounds: range) -> list[object]:
        seen: list[object] = []
        for at in rounds:
            seen.append(table.insert(rows_of(*range(at * 5, at * 5 + 5), version=at // 4)))
            sample = table.sample(8)
            if sample is not None:
                seen += [sample.rows["number"].tolist(), sample.probabilities.tolist(), sample.keys.slots.tolist()]
                seen.append(table.update(sample.keys, sample.rows["number"] % 7 + 0.25))
            seen.append(table.advance(Version(1, at // 4)))
        return seen

    one, rng = make()
    play(one, range(30))
    state, rng_state = one.state_dict(), rng.bit_generator.state
    expected = play(one, range(30, 45))
    other, other_rng = make()
    other.load_state_dict(state)
    other_rng.bit_generator.state = rng_state
    assert play(other, range(30, 45)) == expected
    assert other.stats() == one.stats()
    assert sum(isinstance(seen, list) for seen in expected) > 9


def test_rows_that_were_sampled_more_often_than_is_allowed_now_leave_with_the_restore() -> None:
    patient, hasty = (table_of(4, OldestFirst(), largest=2, max_reuse=reuse) for reuse in (3, 2))
    patient.insert(rows_of(0, 1, 2))
    for _ in range(2):
        patient.sample(2)
    hasty.load_state_dict(patient.state_dict())
    assert len(hasty) == 1
    assert removed(hasty) == {"reused": 2}
    assert numbers_of(hasty.sample(1)) == [2]
    assert hasty.stats().sampled == 5


def test_a_table_of_other_columns_is_not_taken_over() -> None:
    state = table_of(4, UniformSampler()).state_dict()
    state["row/number"] = state["row/number"].astype(np.float32)
    with pytest.raises(CheckpointError, match="cannot take over another: column 'number' has rows of float32"):
        table_of(4, UniformSampler()).load_state_dict(state)


@pytest.mark.parametrize("priorities", [[1.0], [1.0, -1.0], [1.0, float("nan")], [1.0, float("inf")]])
def test_impossible_priorities_are_refused_and_change_nothing(priorities: list[float]) -> None:
    table = table_of(4, Prioritized(0.6, 1e-6), largest=2)
    with pytest.raises(ValueError, match="finite priority >= 0 for each of 2 rows"):
        table.insert(rows_of(0, 1), np.array(priorities))
    assert len(table) == 0
    table.insert(rows_of(0, 1))
    sample = table.sample(2)
    assert sample is not None
    with pytest.raises(ValueError, match="finite priority >= 0 for each of 2 rows"):
        table.update(sample.keys, np.array(priorities))


def test_a_sample_that_was_not_announced_is_refused() -> None:
    with pytest.raises(ValueError, match="has 1 to 3 rows, got 4"):
        table_of(9, UniformSampler(), largest=3).sample(4)
    with pytest.raises(ValueError, match="has 1 to 3 rows, got 0"):
        table_of(9, UniformSampler(), largest=3).sample(0)


def test_impossible_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="got 0 and None"):
        table_of(4, UniformSampler(), largest=0)
    with pytest.raises(ValueError, match="got 1 and 0"):
        table_of(4, UniformSampler(), max_reuse=0)
    with pytest.raises(ValueError, match="wait for 5 rows, but the table never holds over 4"):
        table_of(4, UniformSampler(), limiter=MinSize(5))
    with pytest.raises(ValueError, match="wait for 5 rows, but the table never holds over 3"):
        table_of(9, UniformSampler(), limiter=MinSize(5), max_age=MaxAge(inserts=2))
    with pytest.raises(ValueError, match="needs the columns"):
        Table(
            {"number": COLUMNS["number"]},
            4,
            sampler=UniformSampler(),
            remover=RemoveOldest(),
            limiter=MinSize(1),
            largest_sample_rows=1,
            rng=np.random.default_rng(0),
            max_age=MaxAge(versions=1),
        )


@pytest.mark.parametrize(("inserts", "versions"), [(None, None), (0, None), (None, -1)])
def test_impossible_ages_are_refused(inserts: int | None, versions: int | None) -> None:
    with pytest.raises(ValueError, match="max age needs inserts"):
        MaxAge(inserts, versions)
