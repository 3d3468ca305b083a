import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.league.matchmaking.matchmaker import Matchmaker, choose
from app.league.matchmaking.past import Newest, UniformWindow
from app.league.matchmaking.pfsp import Pfsp, pfsp
from app.league.matchmaking.psro import Psro
from app.league.payoff import Payoff

EVERY: list[Matchmaker] = [
    Newest(),
    UniformWindow(),
    UniformWindow(0.5),
    Pfsp(),
    Pfsp("variance"),
    Psro(),
    Psro(rectified=True),
]


def payoff_of(rates: np.ndarray) -> Payoff:
    """Returns a payoff in which each pair has played one match with the rate as its score."""
    payoff = Payoff()
    for number in range(len(rates)):
        payoff.add(f"p{number}")
    for a in range(len(rates)):
        for b in range(a + 1, len(rates)):
            payoff.record(f"p{a}", f"p{b}", float(rates[a, b]))
    return payoff


ROCK_PAPER_SCISSORS = np.array([[0.5, 0.0, 1.0], [1.0, 0.5, 0.0], [0.0, 1.0, 0.5]])


@pytest.mark.parametrize("matchmaker", EVERY)
@given(st.integers(1, 6), st.integers(0, 2**32))
def test_every_matchmaker_gives_a_distribution(matchmaker: Matchmaker, players: int, seed: int) -> None:
    payoff = payoff_of(np.random.default_rng(seed).random((players + 1, players + 1)))
    got = matchmaker.probabilities("p0", [f"p{number}" for number in range(1, players + 1)], payoff)
    assert got.shape == (players,)
    assert (got >= 0).all()
    assert got.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("matchmaker", EVERY)
def test_nobody_to_choose_from_is_refused_and_a_first_player_meets_itself(matchmaker: Matchmaker) -> None:
    payoff = payoff_of(np.full((1, 1), 0.5))
    with pytest.raises(ValueError, match="at least one candidate"):
        matchmaker.probabilities("p0", [], payoff)
    assert choose(matchmaker, "p0", [], payoff, np.random.default_rng(0)) == "p0"


def test_windows_hold_the_newest_share() -> None:
    payoff, ids = Payoff(), ["a", "b", "c", "d"]
    assert Newest().probabilities("x", ids, payoff).tolist() == [0, 0, 0, 1]
    assert UniformWindow(0.0).probabilities("x", ids, payoff).tolist() == [0.25] * 4
    assert UniformWindow(0.5).probabilities("x", ids, payoff).tolist() == [0, 0, 0.5, 0.5]
    assert UniformWindow(1.0).probabilities("x", ids, payoff).tolist() == [0, 0, 0, 1]
    with pytest.raises(ValueError, match=r"delta in \[0, 1\]"):
        UniformWindow(1.1)


def test_the_hard_ones_and_the_equals_are_preferred_by_their_formulas() -> None:
    rates = np.array([0.0, 0.5, 0.9])
    np.testing.assert_allclose(pfsp(rates, "squared"), np.array([1, 0.25, 0.01]) / 1.26)
    np.testing.assert_allclose(pfsp(rates, "linear"), np.array([1, 0.5, 0.1]) / 1.6)
    np.testing.assert_allclose(pfsp(rates, "variance"), np.array([0, 0.25, 0.09]) / 0.34)


@pytest.mark.parametrize("weighting", ["variance", "squared", "linear"])
def test_where_all_are_beaten_for_certain_all_are_equal(weighting: str) -> None:
    assert pfsp(np.ones(4), weighting).tolist() == [0.25] * 4  # type: ignore[arg-type]


@pytest.mark.parametrize("rates", [np.array([]), np.array([np.nan]), np.array([1.1]), np.array([-0.1])])
def test_rates_that_are_none_are_refused(rates: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"win rates in \[0, 1\]"):
        pfsp(rates)


def test_psro_meets_the_equilibrium_of_the_candidates() -> None:
    ids = ["p0", "p1", "p2"]
    np.testing.assert_allclose(Psro().probabilities("p0", ids, payoff_of(ROCK_PAPER_SCISSORS)), np.full(3, 1 / 3))
    dominated = np.array([[0.5, 0.9, 0.9], [0.1, 0.5, 0.5], [0.1, 0.5, 0.5]])
    np.testing.assert_allclose(Psro().probabilities("p2", ids, payoff_of(dominated)), [1, 0, 0], atol=1e-9)


def test_rectified_leaves_out_those_that_the_player_loses_to() -> None:
    got = Psro(rectified=True).probabilities("p0", ["p0", "p1", "p2"], payoff_of(ROCK_PAPER_SCISSORS))
    np.testing.assert_allclose(got, [0.5, 0.0, 0.5], atol=1e-9)


def test_equal_generators_choose_equal_opponents_as_often_as_they_should() -> None:
    payoff, ids = payoff_of(ROCK_PAPER_SCISSORS), ["p0", "p1", "p2"]
    rng, again = np.random.default_rng(1), np.random.default_rng(1)
    chosen = [choose(Pfsp("linear"), "p0", ids, payoff, rng) for _ in range(3000)]
    assert chosen[:50] == [choose(Pfsp("linear"), "p0", ids, payoff, again) for _ in range(50)]
    shares = [chosen.count(player) / 3000 for player in ids]
    np.testing.assert_allclose(shares, [1 / 3, 2 / 3, 0], atol=0.03)
