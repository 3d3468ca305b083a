"""Matchmakers on games of one move: what they meet, and where populations get to, by exact best responses.

The players are exact best responses, since the mathematics of matchmaking is under test; ``Payoff`` and the matchmakers
are the product's. ``test_league_learners.py`` has the same games with PPO.
"""

import numpy as np
import pytest

from app.league.matchmaking.matchmaker import Matchmaker
from app.league.matchmaking.past import Newest, UniformWindow
from app.league.matchmaking.pfsp import Pfsp
from app.league.matchmaking.psro import Psro
from app.league.payoff import Payoff

from .matrix_game import ROCK_COUNTS_TWICE, ROCK_PAPER_SCISSORS, MatrixGame
from .oracles import Population, SolvedBeside

pytestmark = [pytest.mark.proof, pytest.mark.fast_proof]

RESPONSES = 200
LEAGUES: list[Matchmaker] = [UniformWindow(), Pfsp("linear"), Psro()]
WITH_A_DOMINATED_ONE = np.array([[0.5, 0, 1, 1], [1, 0.5, 0, 1], [0, 1, 0.5, 1], [0, 0, 0, 0.5]])


def grown(payoff: np.ndarray, matchmaker: Matchmaker) -> Population[np.ndarray]:
    population = Population(MatrixGame(payoff), matchmaker)
    population.grow(RESPONSES)
    return population


@pytest.mark.parametrize("matchmaker", [UniformWindow(), Pfsp(), Pfsp("linear"), Pfsp("variance")])
def test_the_average_policy_of_rock_paper_scissors_can_hardly_be_exploited(matchmaker: Matchmaker) -> None:
    game = MatrixGame(ROCK_PAPER_SCISSORS)
    assert game.exploitability(game.first()) == 1.0
    assert game.exploitability(grown(ROCK_PAPER_SCISSORS, matchmaker).average()) < 0.05


def test_psro_solves_rock_paper_scissors_with_its_three_moves() -> None:
    population = Population(MatrixGame(ROCK_PAPER_SCISSORS), Psro())
    population.grow(2)
    assert MatrixGame(ROCK_PAPER_SCISSORS).exploitability(population.drawn()) < 1e-9


@pytest.mark.parametrize("every", [1, 3, 7])
def test_psro_from_solutions_that_come_late_solves_it_too(every: int) -> None:
    population = Population(MatrixGame(ROCK_COUNTS_TWICE), SolvedBeside(every))
    population.grow(6 * every - 1)  # The last solution knows all players.
    np.testing.assert_allclose(population.drawn(), [0.25, 0.5, 0.25], atol=1e-9)


def test_plain_self_play_goes_round_for_ever() -> None:
    """Each newest player is the only best response to the one before, three of them come round: so it goes on."""
    population = grown(ROCK_COUNTS_TWICE, Newest())
    moves = [int(player.argmax()) for player in population.players]
    assert moves == [number % 3 for number in range(RESPONSES + 1)]
    for player in population.players:
        won = ROCK_COUNTS_TWICE @ player
        assert (won == won.max()).sum() == 1
    assert population.worst_score_of_newest() < 0.5  # An ancestor beats it.


@pytest.mark.parametrize("matchmaker", LEAGUES, ids=lambda one: type(one).__name__)
def test_where_plain_self_play_stays_exploitable_a_league_does_not(matchmaker: Matchmaker) -> None:
    """Going round plays each move a third of the time, (1/3, 1/3, 1/3); the equilibrium is (1/4, 1/2, 1/4)."""
    game = MatrixGame(ROCK_COUNTS_TWICE)
    self_play = grown(ROCK_COUNTS_TWICE, Newest()).average()
    assert game.exploitability(self_play) == pytest.approx(1 / 3, abs=0.01)
    league = grown(ROCK_COUNTS_TWICE, matchmaker)
    found = league.drawn() if isinstance(matchmaker, Psro) else league.average()
    assert game.exploitability(found) < 0.05
    np.testing.assert_allclose(found, [0.25, 0.5, 0.25], atol=0.03)


@pytest.mark.parametrize(
    ("rates", "equilibrium"),
    [
        ([[0.5, 0, 1], [1, 0.5, 0], [0, 1, 0.5]], [1 / 3, 1 / 3, 1 / 3]),
        ([[0.5, 0.25, 1], [0.75, 0.5, 0.25], [0, 0.75, 0.5]], [0.25, 0.5, 0.25]),
        (WITH_A_DOMINATED_ONE.tolist(), [1 / 3, 1 / 3, 1 / 3, 0]),
        ([[0.5, 0.9], [0.1, 0.5]], [1, 0]),
        # Rock, paper, scissors, lizard, Spock; each beats two and loses to two.
        (
            [[0.5, 0, 1, 1, 0], [1, 0.5, 0, 0, 1], [0, 1, 0.5, 1, 0], [0, 1, 0, 0.5, 1], [1, 0, 1, 0, 0.5]],
            [0.2, 0.2, 0.2, 0.2, 0.2],
        ),
    ],
)
def test_psro_meets_known_equilibria(rates: list[list[float]], equilibrium: list[float]) -> None:
    names, payoff = [f"p{at}" for at in range(len(rates))], Payoff()
    for name in names:
        payoff.add(name)
    for home, row in enumerate(rates):
        for away in range(home):
            payoff.record(names[home], names[away], row[away])
    np.testing.assert_allclose(Psro().probabilities(names[0], names, payoff), equilibrium, atol=1e-9)
