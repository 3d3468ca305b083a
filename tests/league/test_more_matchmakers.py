"""Matchmakers made of others, those by rating, and the solved equilibrium."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.league.elo_ratings import EloRatings
from app.league.matchmaking.among import Among, Mixed, SelfPlay, spread
from app.league.matchmaking.equilibrium import Equilibrium, SolvedPsro, solved
from app.league.matchmaking.past import Newest, UniformWindow
from app.league.matchmaking.pfsp import pfsp
from app.league.matchmaking.rated import EloMatched, LeastKnown
from app.league.payoff import Payoff
from app.league.ratings import Moves, Rating
from tests.league.test_matchmaking import ROCK_PAPER_SCISSORS, payoff_of

IDS = ["p0", "p1", "p2"]


def elo(*means: float) -> EloRatings:
    ratings = EloRatings()
    for number, mean in enumerate(means):
        ratings.add(f"p{number}", Moves.FROZEN, Rating(mean, 100.0))
    return ratings


def test_a_group_is_asked_about_alone_and_an_empty_one_means_itself() -> None:
    payoff = payoff_of(np.full((3, 3), 0.5))
    among = Among(lambda player: [other for other in IDS if other > player], UniformWindow())
    assert among.probabilities("p0", IDS, payoff).tolist() == [0.0, 0.5, 0.5]
    assert among.probabilities("p2", IDS, payoff).tolist() == [0.0, 0.0, 1.0]
    assert SelfPlay().probabilities("p1", IDS, payoff).tolist() == [0.0, 1.0, 0.0]


def test_a_mixture_has_the_shares_of_its_parts() -> None:
    payoff = payoff_of(np.full((3, 3), 0.5))
    mixed = Mixed([(0.25, SelfPlay()), (0.75, Newest())])
    assert mixed.probabilities("p0", IDS, payoff).tolist() == [0.25, 0.0, 0.75]
    for shares in ([], [0.5, 0.4], [1.5, -0.5]):
        with pytest.raises(ValueError, match="shares that add up to 1"):
            Mixed([(share, SelfPlay()) for share in shares])


def test_who_is_to_be_met_must_be_a_candidate() -> None:
    with pytest.raises(ValueError, match="not all candidates"):
        spread({"stranger": 1.0}, IDS)
    with pytest.raises(ValueError, match="not all candidates"):
        spread({"p0": 0.5, "stranger": 0.5}, IDS)


def test_losses_count_alike_from_a_half_on_when_capped() -> None:
    np.testing.assert_allclose(pfsp(np.array([0.0, 0.5, 1.0]), "variance_floored"), np.array([0.09, 0.25, 0.0]) / 0.34)
    np.testing.assert_allclose(pfsp(np.array([0.0, 0.5, 0.9]), "linear_capped"), np.array([0.5, 0.5, 0.1]) / 1.1)


def test_equals_by_rating_are_met_most() -> None:
    matchmaker = EloMatched(elo(1000.0, 1000.0, 1400.0))
    expected = np.exp(-np.array([0.0, 0.0, (1 / 11 - 0.5) ** 2]) * 18)  # 400 points: 1 of 11; 1 / 2σ² = 18.
    np.testing.assert_allclose(matchmaker.probabilities("p0", IDS, Payoff()), expected / expected.sum())


def test_where_all_are_far_away_the_nearest_is_met() -> None:
    matchmaker = EloMatched(elo(0.0, 3000.0, 9000.0), sigma=0.001)
    got = matchmaker.probabilities("p0", ["p1", "p2"], Payoff())
    assert got.sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="positive sigma"):
        EloMatched(elo(), sigma=0.0)


def test_the_next_result_says_most_where_least_is_known() -> None:
    payoff = payoff_of(np.full((3, 3), 0.5))
    for _ in range(8):
        payoff.record("p0", "p1", 1.0)
    got = LeastKnown(elo(1000.0, 1000.0, 1000.0)).probabilities("p0", ["p1", "p2"], payoff)
    np.testing.assert_allclose(got, np.array([1 / 10, 1 / 2]) / (1 / 10 + 1 / 2))


def test_where_all_results_are_certain_all_are_alike() -> None:
    got = LeastKnown(elo(1e6, 0.0, 0.0)).probabilities("p0", ["p1", "p2"], payoff_of(np.full((3, 3), 0.5)))
    assert got.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("rates", "nash"),
    [
        (ROCK_PAPER_SCISSORS, [1 / 3, 1 / 3, 1 / 3]),
        (np.array([[0.5, 0.9, 0.9], [0.1, 0.5, 0.5], [0.1, 0.5, 0.5]]), [1, 0, 0]),
        # Rock wins twice as much: paper is played half of the time, rock and scissors share the rest.
        (0.5 + np.array([[0, -1, 2], [1, 0, -1], [-2, 1, 0]]) / 4, [0.25, 0.5, 0.25]),
    ],
)
def test_psro_is_the_equilibrium_of_known_matrices(rates: np.ndarray, nash: list[float]) -> None:
    payoff, equilibrium = payoff_of(rates), Equilibrium()
    equilibrium.take(solved(payoff, IDS))
    got = SolvedPsro(equilibrium).probabilities("p0", IDS, payoff)
    np.testing.assert_allclose(got, nash, atol=1e-9)


def test_before_a_solution_all_are_alike_and_after_it_who_is_new_waits_for_the_next() -> None:
    payoff, equilibrium = payoff_of(ROCK_PAPER_SCISSORS), Equilibrium()
    matchmaker = SolvedPsro(equilibrium)
    np.testing.assert_allclose(matchmaker.probabilities("p0", IDS, payoff), np.full(3, 1 / 3))
    equilibrium.take({"p0": 0.5, "p1": 0.5})
    assert matchmaker.probabilities("p0", IDS, payoff).tolist() == [0.5, 0.5, 0.0]
    assert matchmaker.probabilities("p0", ["p2"], payoff).tolist() == [1.0]


def test_rectified_leaves_out_whom_the_player_loses_to() -> None:
    payoff, equilibrium = payoff_of(ROCK_PAPER_SCISSORS), Equilibrium()
    equilibrium.take(solved(payoff, IDS))
    got = SolvedPsro(equilibrium, rectified=True).probabilities("p0", IDS, payoff)
    np.testing.assert_allclose(got, [0.5, 0.0, 0.5], atol=1e-9)


@given(st.integers(1, 8), st.integers(0, 2**32))
def test_a_state_of_a_payoff_gives_it_back(players: int, seed: int) -> None:
    payoff = payoff_of(np.random.default_rng(seed).random((players, players)))
    state = payoff.state()
    other = payoff.at(state)
    ids = [f"p{number}" for number in range(players)]
    assert other.players == tuple(ids)
    np.testing.assert_array_equal(other.matrix(ids), payoff.matrix(ids))
    if players > 1:
        payoff.record("p0", "p1", 1.0)
        assert other.games("p0", "p1") == 1
        other.forget("p0")
        assert other.games_with("p0", ids).tolist() == [0] * players
        assert other.win_rate("p1", "p0") == 0.5
        assert payoff.games("p0", "p1") == 2
