"""Tic-tac-toe is learned in a league until no perfect player can win: PPO against frozen ancestors and exploiters.

The learner is the product's PPO with the settings of ``connect_four.yaml``; payoff and PFSP are the product's. At each
freeze an exact best response to the player's most probable moves joins its opponents: the main exploiters of AlphaStar
(Vinyals et al., 2019) without learning. What is shown is exact too: all games that can happen are counted.
"""

from collections.abc import Callable

import pytest

from app.client.multi_agent import ByTurns
from app.games.tic_tac_toe.environment import TicTacToe
from app.league.matchmaking.pfsp import Pfsp

from .in_league import League
from .on_board import against_the_perfect, exploiter
from .trainee import Trainee

pytestmark = [pytest.mark.proof, pytest.mark.timeout(900)]

SEED = 0
STEPS = 20_000
"""Of the main player between two freezes."""
MOST_STEPS = 600_000
CHANGES = (
    "models.main.kwargs.observation.shape=[2,3,3]",
    "models.main.kwargs.action.choices=9",
    "models.main.kwargs.encoder.hidden=[128,128]",
    "trainers.main.inputs.0.batch_rows=4096",
    "trainers.main.inputs.0.algorithm.minibatch_rows=512",
    "trainers.main.inputs.0.algorithm.entropy_coef=0.1",
    "trainers.main.inputs.0.algorithm.gamma=1.0",
    "trainers.main.optimizer.learning_rate=1e-3",
)


def test_a_player_that_a_league_has_trained_never_loses_to_a_perfect_one(
    record_property: Callable[[str, object], None],
) -> None:
    league = League(
        Trainee("connect_four.yaml", SEED, CHANGES), lambda: ByTurns(TicTacToe()), Pfsp(), SEED, exploit=exploiter
    )
    found = against_the_perfect(league.main)
    assert found.lost > found.played / 2  # So there is something to learn.
    curve = [found.lost]
    while found.lost and league.steps < MOST_STEPS:
        league.play(STEPS)
        found = against_the_perfect(league.main)
        curve.append(found.lost)
        league.freeze()
    record_property("proof", f"tic-tac-toe              {SEED} {league.steps:7,} {found}, lost before: {curve}")
    assert found.lost == 0, curve
    assert found.played > 50
