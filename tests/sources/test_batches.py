"""Batches of exactly so many rows, and the same ones again from every position."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import SourceError
from app.sources.batches import Batch, batches
from app.sources.fitting import fields_of
from app.sources.position import BEGIN, START, Place, Position
from app.sources.reader import Order, Reader
from app.types import RowKind, Rows

from .made import FLAT, Listed

Lengths = st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1, max_size=4)
Windows = st.sampled_from([None, 1, 3])


def reader(lengths: list[list[int]], order: Order) -> Reader:
    firsts = itertools.accumulate([0, *map(len, lengths)])
    shards = [Listed(f"{at}.npz", each, first) for at, (each, first) in enumerate(zip(lengths, firsts, strict=False))]
    return Reader("demos", shards, fields_of(FLAT), order)


def steps(found: list[Batch]) -> list[float]:
    """Returns the first number of each observation that is learned from."""
    return [
        float(seen) for batch in found for seen in batch.rows["observation"][batch.rows["weight"] > 0][:, 0].tolist()
    ]


def equal(one: Rows, other: Rows) -> bool:
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype and one[name].tobytes() == other[name].tobytes() for name in one
    )


@given(Lengths, st.integers(2, 12), Windows)
def test_each_step_of_an_epoch_is_learned_from_once(lengths: list[list[int]], rows: int, window: int | None) -> None:
    found = list(batches(reader(lengths, Order(2, window)), rows))
    assert all(len(batch.rows["kind"]) == rows for batch in found)
    assert all(batch.rows["kind"][-1] != RowKind.STEP for batch in found)
    flat = [length for each in lengths for length in each]
    expected = [100.0 * number + tick for number, length in enumerate(flat) for tick in range(length)]
    assert sorted(steps(found)) == sorted(expected * 2)
    if window is None:
        assert steps(found) == expected * 2


@given(Lengths, st.integers(2, 12), Windows, st.integers(1, 3), st.integers(0, 40))
def test_from_each_position_the_same_rows_follow_as_in_the_uninterrupted_run(
    lengths: list[list[int]], rows: int, window: int | None, ranks: int, stop: int
) -> None:
    order = Order(None, window, seed=5, rank=ranks - 1, ranks=ranks)
    if ranks > len(lengths) and max(len(each) for each in lengths) < ranks:
        return  # Nothing for the last rank.
    whole = list(itertools.islice(batches(reader(lengths, order), rows), stop + 8))
    again = batches(reader(lengths, order), rows, whole[stop].position)
    for expected in whole[stop + 1 :]:
        got = next(again)
        assert got.position == expected.position
        assert equal(got.rows, expected.rows)


@given(Lengths, st.integers(1, 4))
def test_ranks_share_the_trajectories_without_rest(lengths: list[list[int]], ranks: int) -> None:
    seen = []
    for rank in range(ranks):
        try:
            seen += steps(list(batches(reader(lengths, Order(rank=rank, ranks=ranks)), 4)))
        except SourceError:
            assert sum(map(len, lengths)) < ranks or len(lengths) < ranks
    flat = [length for each in lengths for length in each]
    assert sorted(seen) == [100.0 * number + tick for number, length in enumerate(flat) for tick in range(length)]


Stops = st.lists(st.tuples(st.integers(1, 4), st.lists(st.integers(0, 5), min_size=4, max_size=4)), max_size=3)
"""Groups of readers, and how many batches each of them reads."""


@given(Lengths, st.integers(2, 12), Windows, Stops, st.integers(1, 4))
def test_readers_of_other_numbers_go_on_with_what_is_left_without_rest_or_repetition(
    lengths: list[list[int]], rows: int, window: int | None, stops: list[tuple[int, list[int]]], last: int
) -> None:
    if max(ranks for ranks in (last, *(each for each, _ in stops))) > len(lengths[0]):
        lengths = [[*each, 1, 1, 1] for each in lengths]  # Something for each reader.
    place, seen = BEGIN, list[float]()
    for ranks, counts in stops:
        positions = []
        for rank in range(ranks):
            order = Order(2, window, seed=5, rank=rank, ranks=ranks, past=place.past)
            found = list(itertools.islice(batches(reader(lengths, order), rows, place.position), counts[rank]))
            seen += steps(found)
            positions.append(found[-1].position if found else place.position)
        place = Place(Position(min(one.epoch for one in positions), 0, 0, 0), (*place.past, tuple(positions)))
    for rank in range(last):
        order = Order(2, window, seed=5, rank=rank, ranks=last, past=place.past)
        seen += steps(list(batches(reader(lengths, order), rows, place.position)))
    flat = [length for each in lengths for length in each]
    assert sorted(seen) == sorted([100.0 * at + tick for at, length in enumerate(flat) for tick in range(length)] * 2)


@given(Lengths, st.integers(2, 12), Windows, st.integers(0, 8), st.integers(0, 40))
def test_what_is_left_is_read_from_each_position_as_in_the_uninterrupted_run(
    lengths: list[list[int]], rows: int, window: int | None, stop: int, again: int
) -> None:
    first = list(itertools.islice(batches(reader(lengths, Order(None, window, seed=5)), rows), stop + 1))
    past = ((first[-1].position,),)
    lengths = [[*each, 1] for each in lengths]
    order = Order(None, window, seed=5, rank=1, ranks=2, past=past)
    begin = Position(first[-1].position.epoch, 0, 0, 0)
    whole = list(itertools.islice(batches(reader(lengths, order), rows, begin), again + 8))
    resumed = batches(reader(lengths, order), rows, whole[again].position)
    for expected in whole[again + 1 :]:
        got = next(resumed)
        assert got.position == expected.position
        assert equal(got.rows, expected.rows)


def test_who_was_in_the_middle_of_a_trajectory_leaves_its_rest_and_the_readers_take_turns_to_have_the_first() -> None:
    lengths = [[5, 2, 2], [3, 3, 3]]
    stopped = tuple(next(batches(reader(lengths, Order(rank=rank, ranks=2)), 4)).position for rank in (0, 1))
    assert stopped == (Position(0, 0, 0, 3), Position(0, 0, 1, 0))
    got = [steps(list(batches(reader(lengths, Order(rank=rank, ranks=3, past=(stopped,))), 20))) for rank in range(3)]
    # Left are 3 and 4 of game 0, games 1 and 2 of the one; games 4 and 5 of the other.
    assert got == [[3, 4, 500, 501, 502], [100, 101], [200, 201, 400, 401, 402]]


def test_a_cut_trajectory_bootstraps_from_the_row_that_opens_the_next_batch() -> None:
    first, second = batches(reader([[5]], Order()), 4)
    assert first.rows["observation"][:, 0].tolist() == [0, 1, 2, 3]
    assert first.rows["kind"].tolist() == [0, 0, 0, RowKind.FULL]
    assert first.rows["weight"].tolist() == [1, 1, 1, 0]
    assert first.position == Position(0, 0, 0, 3)
    assert second.rows["observation"][:, 0].tolist() == [3, 4, 5, 5]
    assert second.rows["kind"].tolist() == [0, 0, RowKind.TERMINATED, RowKind.LOST]
    assert second.position == Position(1, 0, 0, 0)


def test_an_epoch_is_shuffled_in_its_own_way_and_in_the_same_way_at_each_start() -> None:
    lengths = [[1] * 20]
    one, two = (steps(list(batches(reader(lengths, Order(2, 8, seed=seed)), 40))) for seed in (1, 2))
    assert one[:20] != one[20:]
    assert one != two
    assert one == steps(list(batches(reader(lengths, Order(2, 8, seed=1)), 40)))


def test_what_is_held_out_is_never_trained_on_and_the_same_for_all_seeds() -> None:
    lengths = [[2] * 50, [2] * 50]
    held = steps(list(batches(reader(lengths, Order(held_out_share=0.3, part="held_out")), 10)))
    for seed in (0, 1):
        trained = steps(list(batches(reader(lengths, Order(1, 4, seed, held_out_share=0.3)), 10)))
        assert not set(held) & set(trained)
        assert len(held) + len(trained) == 200
    assert 40 < len(held) < 80


@pytest.mark.parametrize("order", [Order(), Order(None), Order(None, 3)])
def test_a_source_without_any_trajectory_is_refused_instead_of_searched_for_ever(order: Order) -> None:
    with pytest.raises(SourceError, match=r"sources\.demos has no trajectory of the part train in 0\.npz"):
        next(batches(reader([[]], order), 4))
    with pytest.raises(SourceError, match="has no shard"):
        reader([], order)


def test_a_batch_of_one_row_cannot_hold_a_step() -> None:
    with pytest.raises(ValueError, match="at least 2 rows, got 1"):
        next(batches(reader([[3]], Order()), 1, START))
