import math

import pytest

from app.releases.statistics import ShadowStatistics, Statistics


def test_games_add_up_to_their_mean_and_variance() -> None:
    total = Statistics(starts=3)
    for returned in (1.0, 2.0, 6.0):
        total += Statistics.of_game(returned)
    assert total.mean_return == 3.0
    assert total.return_moments == (3.0, 7.0, 3)
    assert total.as_dict() == {
        "starts": 3, "games": 3, "ticks": 0, "errors": 0, "deadline_misses": 0, "mean_return": 3.0,
    }  # fmt: skip


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e200])
def test_a_return_that_would_spoil_the_sums_counts_for_nothing(value: float) -> None:
    assert Statistics.of_game(value) == Statistics()


def test_without_games_there_is_no_mean() -> None:
    assert Statistics().mean_return is None


def test_a_shadow_is_shown_by_its_shares() -> None:
    shown = (ShadowStatistics(3, 2, 1, 0, 1.5) + ShadowStatistics(1, 1, dropped=7)).as_dict()
    assert shown == {
        "compared": 4, "failed": 1, "dropped": 7, "agreement": 0.75, "mean_value_difference": 0.375,
    }  # fmt: skip
