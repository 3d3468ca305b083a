import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.algorithms.episode_sums import OPEN_MAX, EpisodeSums, Followed, Returns, Row
from app.types import RowKind

STEP, FULL, TERMINATED, TRUNCATED, LOST = RowKind


def piece(episode: int, first: int, rewards: list[float], kind: RowKind) -> list[Row]:
    """Returns a trajectory; shaped rewards are ten times as large."""
    steps = [Row(episode, first + at, STEP, reward, 10 * reward) for at, reward in enumerate(rewards)]
    return [*steps, Row(episode, first + len(rewards), kind, 99.0, 99.0)]


def test_an_episode_in_pieces_has_one_return_and_its_sum_goes_on() -> None:
    sums = EpisodeSums(0.5)
    begun = sums.follow(piece(7, 0, [1.0, 2.0], FULL))
    assert begun == Followed([10.0, 25.0, 0.0], [])
    other = sums.follow(piece(8, 0, [5.0], TRUNCATED))
    assert other == Followed([50.0, 0.0], [Returns(5.0, 50.0)])
    ended = sums.follow(piece(7, 2, [4.0], TERMINATED))
    assert ended == Followed([52.5, 0.0], [Returns(7.0, 70.0)])  # 25 / 2 + 40


@pytest.mark.parametrize(
    "pieces",
    [
        [piece(1, 3, [1.0], TERMINATED)],  # Its beginning was not seen.
        [piece(1, 0, [1.0], FULL), piece(1, 5, [1.0], TERMINATED)],  # A piece was dropped.
        [piece(1, 0, [1.0], LOST)],
        [piece(1, 0, [1.0], FULL)],
    ],
)
def test_what_was_not_seen_whole_has_no_return(pieces: list[list[Row]]) -> None:
    sums = EpisodeSums(0.9)
    assert all(not sums.follow(one).ended for one in pieces)


def test_padding_ends_no_episode() -> None:
    sums = EpisodeSums(0.9)
    sums.follow(piece(0, 0, [1.0], FULL))
    sums.follow([Row(0, 0, LOST, 0.0, 0.0)] * 3)
    assert sums.follow(piece(0, 1, [2.0], TERMINATED)).ended == [Returns(3.0, 30.0)]


def test_episodes_that_never_end_are_forgotten() -> None:
    sums = EpisodeSums(0.9)
    for episode in range(OPEN_MAX + 1):
        sums.follow(piece(episode, 0, [1.0], FULL))
    assert sums.follow(piece(0, 1, [1.0], TERMINATED)).ended == []
    assert sums.follow(piece(2, 1, [1.0], TERMINATED)).ended == [Returns(2.0, 20.0)]


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=8), st.integers(1, 7))
def test_where_an_episode_is_cut_changes_nothing(rewards: list[float], cut: int) -> None:
    whole, parts = EpisodeSums(0.9), EpisodeSums(0.9)
    at = min(cut, len(rewards) - 1)
    expected = whole.follow(piece(1, 0, rewards, TERMINATED))
    first, second = parts.follow(piece(1, 0, rewards[:at], FULL)), parts.follow(piece(1, at, rewards[at:], TERMINATED))
    assert first.discounted[:-1] + second.discounted == expected.discounted
    assert first.ended + second.ended == expected.ended
