"""How well a search plays connect four, over many games."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from app.games.connect_four.rules import Position
from app.planning.game import Evaluation, uniform_evaluation
from app.planning.puct import legal_priors
from app.planning.search import SearchSettings, search

Player = Callable[[Position, np.random.Generator], int]
SETTINGS = SearchSettings(simulations=50)  # One leaf at a time: batches of 8 see too little in so few.


def by_chance(position: Position, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(position.legal)))


def by_search(position: Position, rng: np.random.Generator) -> int:
    return int(search(position, uniform_evaluation, SETTINGS).visits.argmax())


def score(player: Player, other: Player, games: int, seed: int) -> float:
    """Returns wins and half the draws of ``player`` as a share of all games; each side begins every other one."""
    total = 0.0
    for game in range(games):
        rng = np.random.default_rng([seed, game])
        sides, position, mover = (player, other), Position.first(), game % 2
        while not position.over:
            position = position.play(sides[mover](position, rng))
            mover = 1 - mover
        won = 1 if mover == 1 else 0  # Who would move has lost.
        total += won if position.lost else 0.5
    return total / games


@pytest.mark.slow
def test_fifty_simulations_without_a_network_beat_chance() -> None:
    assert score(by_search, by_chance, 200, 101) >= 0.95


class Opinion:
    """A fixed linear policy, drawn by chance: some columns always look better than others."""

    def __init__(self, seed: int) -> None:
        self._weights = np.random.default_rng(seed).normal(size=(2 * 6 * 7, 7))

    def judge(self, positions: Sequence[Position]) -> Evaluation:
        logits = np.stack([position.planes().ravel() for position in positions]) @ self._weights
        priors = np.exp(logits - logits.max(axis=1, keepdims=True))
        return Evaluation(priors, np.zeros(len(positions)))

    def alone(self, position: Position, rng: np.random.Generator) -> int:
        priors = legal_priors(self.judge([position]).priors[0], position.legal)
        return int(rng.choice(len(priors), p=priors))

    def searched(self, position: Position, rng: np.random.Generator) -> int:
        return int(search(position, self.judge, SETTINGS).visits.argmax())


@pytest.mark.slow
def test_a_search_beats_the_policy_that_it_searches_with() -> None:
    opinion = Opinion(2)
    assert score(opinion.searched, opinion.alone, 100, 3) >= 0.65  # Three deviations of an even match.
