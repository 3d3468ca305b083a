import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.league.elo import Elo

ratings = st.floats(0, 3000)


def test_four_hundred_points_are_ten_times_the_score() -> None:
    assert Elo().expected(1400, 1000) == pytest.approx(10 / 11)
    assert Elo().expected(1000, 1000) == 0.5


def test_a_result_moves_both_by_what_was_not_expected() -> None:
    assert Elo(20).updated(1000, 1000, 1.0) == (1010, 990)
    assert Elo(20).updated(1000, 1000, 0.5) == (1000, 1000)


@given(ratings, ratings, st.sampled_from([0.0, 0.5, 1.0]))
def test_points_are_neither_made_nor_lost(home: float, away: float, score: float) -> None:
    after = Elo().updated(home, away, score)
    assert sum(after) == pytest.approx(home + away)
    assert Elo().expected(home, away) + Elo().expected(away, home) == pytest.approx(1.0)


def test_an_anchor_stays_where_it_is() -> None:
    assert Elo(20).updated(1000, 1000, 1.0, away_fixed=True) == (1010, 1000)
    assert Elo(20).updated(1000, 1000, 1.0, home_fixed=True) == (1000, 990)


def test_ratings_settle_at_the_strength_behind_the_results() -> None:
    rng, elo, rating, seen = np.random.default_rng(0), Elo(8), 1000.0, []
    for _ in range(6000):
        rating, _ = elo.updated(rating, 1000.0, float(rng.random() < elo.expected(1200, 1000)), away_fixed=True)
        seen.append(rating)
    assert np.mean(seen[2000:]) == pytest.approx(1200, abs=15)


def test_a_score_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"score in \[0, 1\], got 2"):
        Elo().updated(1, 2, 2)
