"""Which checkpoints are kept."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from app.config.checkpoints import BestCheckpoints, KeepCheckpoints
from train.retention import Mark, kept


def marks(*returns: float | None) -> list[Mark]:
    """Returns checkpoints 1, 2, 3 … with these mean returns."""
    return [
        Mark(str(number), number, {} if value is None else {"mean_return": value})
        for number, value in enumerate(returns, 1)
    ]


def test_the_newest_are_kept() -> None:
    assert kept(marks(1, 2, 3, 4), KeepCheckpoints(last=2)) == {"3", "4"}
    assert kept(marks(1), KeepCheckpoints(last=2)) == {"1"}
    assert kept([], KeepCheckpoints()) == set()


def test_each_nth_that_was_written_stays_for_good() -> None:
    assert kept(marks(*[0] * 10), KeepCheckpoints(last=1, every_nth=4)) == {"4", "8", "10"}


def test_the_best_stay_and_of_equal_ones_the_newest() -> None:
    keep = KeepCheckpoints(last=1, best=BestCheckpoints(count=2))
    assert kept(marks(9, 3, 5, 5, 1), keep) == {"1", "4", "5"}


def test_the_smallest_may_be_the_best() -> None:
    keep = KeepCheckpoints(last=1, best=BestCheckpoints(order="smallest"))
    assert kept(marks(9, 3, 3, 5), keep) == {"3", "4"}


def test_a_checkpoint_without_the_metric_is_no_candidate() -> None:
    keep = KeepCheckpoints(last=1, best=BestCheckpoints(count=3))
    assert kept(marks(None, 2, None, None), keep) == {"2", "4"}
    assert kept(marks(1, 2, 3), KeepCheckpoints(last=1, best=BestCheckpoints(metric="loss"))) == {"3"}


@given(
    st.lists(st.one_of(st.none(), st.integers(-3, 3).map(float)), min_size=1, max_size=30),
    st.integers(1, 4),
    st.one_of(st.none(), st.integers(1, 5)),
    st.integers(1, 3),
)
def test_removing_after_each_write_keeps_what_one_look_at_all_of_them_would(
    returns: Sequence[float | None], last: int, every_nth: int | None, count: int
) -> None:
    keep = KeepCheckpoints(last=last, every_nth=every_nth, best=BestCheckpoints(count=count))
    whole, there = marks(*returns), list[Mark]()
    for mark in whole:
        there.append(mark)
        names = kept(there, keep)
        there = [one for one in there if one.name in names]
        assert mark in there
    assert {one.name for one in there} == kept(whole, keep)
