"""Ratings follow results, fixed ones stay, and uncertainty falls with what is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openskill.models import PlackettLuce

from app.league.elo_ratings import SLOPE, EloRatings
from app.league.openskill_ratings import TAU, UNKNOWN, OpenSkillRatings
from app.league.ratings import Moves, Placed, Rating, Ratings

SYSTEMS = [EloRatings, OpenSkillRatings]
results = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0])), max_size=30)


def rated(system: type[Ratings], *players: str, moves: Moves = Moves.FROZEN) -> Ratings:
    ratings = system()
    for player in players:
        ratings.add(player, moves)
    return ratings


def win(ratings: Ratings, winner: str, loser: str, times: int = 1) -> None:
    for _ in range(times):
        ratings.record([Placed(winner, 1.0), Placed(loser, 0.0)])


@pytest.mark.parametrize("system", SYSTEMS)
@given(played=results)
def test_whatever_happens_ratings_are_finite_and_a_fixed_one_stays(
    system: type[Ratings], played: list[tuple[int, int, float]]
) -> None:
    ratings = rated(system, "p0", "p1", "p2")
    ratings.add_fixed("p3", 30.0)
    for home, away, score in played:
        ratings.record([Placed(f"p{home}", score), Placed(f"p{away}", 1 - score)])
    assert ratings.rating("p3") == Rating(30.0, 0.0)
    for player in ("p0", "p1", "p2"):
        rating = ratings.rating(player)
        assert math.isfinite(rating.mean)
        assert rating.deviation > 0
    expected = ratings.expected("p0", ["p0", "p1", "p2", "p3"])
    assert expected[0] == pytest.approx(0.5)
    assert ((expected > 0) & (expected < 1)).all()
    np.testing.assert_allclose(expected[1], 1 - ratings.expected("p1", ["p0"])[0])


@pytest.mark.parametrize("system", SYSTEMS)
def test_who_wins_rises_and_becomes_certain(system: type[Ratings]) -> None:
    ratings = rated(system, "strong", "weak")
    first = ratings.rating("strong")
    win(ratings, "strong", "weak", 20)
    assert ratings.rating("strong").mean > first.mean > ratings.rating("weak").mean
    assert ratings.rating("strong").deviation < first.deviation
    assert ratings.expected("strong", ["weak"])[0] > 0.7


@pytest.mark.parametrize("system", SYSTEMS)
def test_sides_of_one_player_say_nothing(system: type[Ratings]) -> None:
    ratings = rated(system, "one")
    before = ratings.rating("one")
    ratings.record([Placed("one", 1.0), Placed("one", 0.0)])
    assert ratings.rating("one") == before


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_state_gives_the_same_ratings_back(system: type[Ratings]) -> None:
    ratings = rated(system, "a", "b")
    win(ratings, "a", "b", 3)
    other = system()
    other.load(ratings.state())
    win(ratings, "b", "a")
    win(other, "b", "a")
    assert other.state() == ratings.state()


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_order_of_three_sides_is_learned(system: type[Ratings]) -> None:
    ratings = rated(system, "gold", "silver", "bronze")
    for _ in range(30):
        ratings.record([Placed("silver", 2.0), Placed("gold", 3.0), Placed("bronze", 1.0)])
    means = [ratings.rating(player).mean for player in ("gold", "silver", "bronze")]
    assert means == sorted(means, reverse=True)


def test_elo_moves_by_its_formula_and_so_does_its_error() -> None:
    ratings = rated(EloRatings, "a", "b")
    win(ratings, "a", "b")
    assert ratings.rating("a").mean == 1008.0  # 1000 + 16 · (1 - 0.5).
    assert ratings.rating("b").mean == 992.0
    gain = 16 * 0.25 / SLOPE
    variance = (1 - gain) ** 2 * 350**2 + gain**2 * 350**2 + 16**2 * 0.25
    assert ratings.rating("a").deviation == pytest.approx(math.sqrt(variance))


def test_elo_error_is_that_of_simulated_ratings() -> None:
    rng, ends = np.random.default_rng(3), []
    for _ in range(200):
        ratings = rated(EloRatings, "a")
        ratings.add_fixed("fixed", 1000.0)
        ratings.add("a", Moves.FROZEN, Rating(rng.normal(1000, 200), 200.0))
        for _ in range(60):
            score = float(rng.random() < 0.5)  # Its true rating is 1000.
            ratings.record([Placed("a", score), Placed("fixed", 1 - score)])
        ends.append(ratings.rating("a"))
    error = float(np.sqrt(np.mean([(end.mean - 1000) ** 2 for end in ends])))
    told = float(np.mean([end.deviation for end in ends]))
    assert error == pytest.approx(told, rel=0.2)


def test_openskill_is_the_plackett_luce_model_and_only_learners_become_less_certain() -> None:
    model = PlackettLuce(tau=0.0)
    ratings = rated(OpenSkillRatings, "a", "b")
    win(ratings, "a", "b")
    (a,), (b,) = model.rate([[model.rating()], [model.rating()]], scores=[1, 0])
    assert ratings.rating("a") == Rating(a.mu, a.sigma)
    assert ratings.rating("b") == Rating(b.mu, b.sigma)
    learning = rated(OpenSkillRatings, "a", "b", moves=Moves.LEARNS)
    win(learning, "a", "b")
    prior = math.hypot(UNKNOWN.deviation, TAU)
    (a,), _ = model.rate([[model.rating(25.0, prior)], [model.rating(25.0, prior)]], scores=[1, 0])
    assert learning.rating("a") == Rating(a.mu, a.sigma)


def test_a_player_on_two_sides_gets_the_mean_of_both() -> None:
    model = PlackettLuce(tau=0.0)
    ratings = rated(OpenSkillRatings, "twice", "other")
    ratings.record([Placed("twice", 3.0), Placed("other", 2.0), Placed("twice", 1.0)])
    (first,), (other,), (last,) = model.rate([[model.rating()] for _ in range(3)], scores=[3, 2, 1])
    assert ratings.rating("twice").mean == pytest.approx((first.mu + last.mu) / 2)
    assert ratings.rating("other").mean == pytest.approx(other.mu)
