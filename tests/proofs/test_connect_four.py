"""Connect four is learned from the visits of a search that plays itself; about two minutes of one CPU."""

from functools import partial

import pytest

from app.planning.game import uniform_evaluation

from .conftest import Tell
from .learning import Proof
from .searching import SearchLearning, by_chance, by_network, by_search, judged, score

pytestmark = [pytest.mark.proof, pytest.mark.timeout(900)]
CONFIG, GAMES, SIMULATIONS = "connect_four_search.yaml", 768, 32


def test_a_search_that_has_learned_beats_chance_and_a_search_that_has_not(told: Tell) -> None:
    learning, curve = SearchLearning(CONFIG, 0), []
    while learning.games < GAMES:
        learning.run(64)
        if learning.games % 192 == 0:  # The network without a search, which is judged in a moment.
            curve.append((learning.moves, 100 * score(by_network(learning.module), by_chance(1), 400)))
    trained = by_search(partial(judged, learning.module), SIMULATIONS)
    won = score(trained, by_chance(2), 200)
    told(Proof(CONFIG, 0, learning.moves, won, learning.seconds, tuple(curve)))
    assert won >= 0.95
    assert score(trained, by_search(uniform_evaluation, SIMULATIONS), 100, openings=2) >= 0.7
    assert curve[-1][1] >= 85
