import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.credits import Credits


def test_a_stream_has_as_many_batches_under_way_as_credits() -> None:
    gate = Credits(2)
    gate.open(0)
    gate.take(0, 10)
    assert gate.available(0)
    gate.take(0, 11)
    assert not gate.available(0)
    assert gate.under_way(0) == 2
    with pytest.raises(ValueError, match="rank 0 has no credit for batch 12"):
        gate.take(0, 12)
    assert gate.under_way(0) == 2


def test_a_released_batch_frees_one_credit_once() -> None:
    gate = Credits(1)
    gate.open(0)
    gate.take(0, 10)
    assert gate.release(0, 10)
    assert not gate.release(0, 10)
    gate.take(0, 11)
    assert not gate.available(0)


def test_ranks_do_not_share_credits() -> None:
    gate = Credits(1)
    gate.open(0)
    gate.open(1)
    gate.take(0, 10)
    assert gate.available(1)
    assert not gate.release(1, 10)


def test_a_rank_that_never_came_has_nothing() -> None:
    gate = Credits(1)
    assert not gate.available(0)
    assert gate.under_way(0) == 0
    assert not gate.release(0, 1)


def test_a_new_stream_has_all_credits_and_the_old_ones_are_dead() -> None:
    gate = Credits(2)
    gate.open(0)
    gate.take(0, 10)
    gate.take(0, 11)
    gate.open(0)
    assert gate.under_way(0) == 0
    gate.take(0, 12)
    gate.take(0, 13)
    assert not gate.release(0, 10)
    assert not gate.available(0)


def test_no_credit_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 per rank, got 0"):
        Credits(0)


@given(
    st.integers(1, 4), st.lists(st.tuples(st.sampled_from("otr"), st.integers(0, 1), st.integers(0, 6)), max_size=60)
)
def test_a_rank_may_take_exactly_while_less_than_its_credits_are_under_way(
    per_rank: int, given_orders: list[tuple[str, int, int]]
) -> None:
    gate = Credits(per_rank)
    under_way: dict[int, set[int]] = {}
    for order, rank, number in given_orders:
        own = under_way.get(rank)
        if order == "o":
            gate.open(rank)
            under_way[rank] = set()
        elif order == "r":
            assert gate.release(rank, number) == (own is not None and number in own)
            (own or set()).discard(number)
        elif gate.available(rank) and own is not None and number not in own:
            gate.take(rank, number)
            own.add(number)
        for each in (0, 1):
            held = under_way.get(each)
            assert gate.available(each) == (held is not None and len(held) < per_rank)
            assert gate.under_way(each) == len(held or ())
