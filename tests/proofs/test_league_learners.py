"""Rock, paper, scissors with the product's PPO: plain self-play goes round, a league with PFSP comes to rest.

The payoff, the matchmakers and PPO (with the settings of ``pong.yaml`` but a small network and more entropy) are the
product's; exploitability is what the best response wins from a policy, exactly: 0 in the equilibrium, 1 at worst.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from app.league.matchmaking.matchmaker import Matchmaker
from app.league.matchmaking.past import Newest
from app.league.matchmaking.pfsp import Pfsp

from .in_league import League
from .matrix_game import ROCK_PAPER_SCISSORS, MatrixGame
from .one_move import OneMove, strategy_of
from .trainee import Trainee

pytestmark = pytest.mark.proof

SEED = 0
FREEZES = 120
STEPS = 1024
"""Of the main player between two freezes: two updates."""
CHANGES = (
    "models.main.kwargs.observation.shape=[1]",
    "models.main.kwargs.encoder.hidden=[16]",
    "trainers.main.inputs.0.batch_rows=512",
    "trainers.main.inputs.0.algorithm.minibatch_rows=512",
    "trainers.main.inputs.0.algorithm.entropy_coef=0.2",
    "trainers.main.optimizer.learning_rate=3e-3",
)


class Played(NamedTuple):
    """How far from the equilibrium a league was."""

    average: float
    """Exploitability of who plays like one of all frozen players, drawn evenly."""
    newest: float
    """Mean exploitability of the later half of the frozen players."""


def played(matchmaker: Matchmaker) -> Played:
    """Returns what came of learning with a matchmaker."""
    game = MatrixGame(ROCK_PAPER_SCISSORS)
    league = League(Trainee("pong.yaml", SEED, CHANGES), lambda: OneMove(ROCK_PAPER_SCISSORS), matchmaker, SEED)
    for _ in range(FREEZES):
        league.play(STEPS)
        league.freeze()
    strategies = [strategy_of(one.network) for one in league.frozen]
    newest = [game.exploitability(one) for one in strategies[FREEZES // 2 :]]
    return Played(game.exploitability(np.mean(strategies, axis=0)), float(np.mean(newest)))


def test_ppo_with_pfsp_comes_to_rest_where_plain_self_play_goes_round(
    record_property: Callable[[str, object], None],
) -> None:
    league, self_play = played(Pfsp()), played(Newest())
    record_property("proof", f"rock, paper, scissors    {SEED} PFSP {league}, newest alone {self_play}")
    assert league.average < 0.05
    assert league.newest < 0.2
    assert self_play.newest > 0.4  # The same learner, entropy and all, with plain self-play.
