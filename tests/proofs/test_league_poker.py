"""Matchmakers on Kuhn and Leduc poker, judged by OpenSpiel's NashConv.

The players are exact best responses in sequence form, since the mathematics of matchmaking is under test; ``Payoff``
and the matchmakers are the product's. NashConv is what best responses win from both seats together, at least 0.
"""

import numpy as np
import pytest

from app.league.matchmaking.matchmaker import Matchmaker
from app.league.matchmaking.past import Newest, UniformWindow
from app.league.matchmaking.pfsp import Pfsp
from app.league.matchmaking.psro import Psro

from .oracles import Population, SolvedBeside
from .sequence_form import Plans, SequenceGame

pytestmark = [pytest.mark.proof, pytest.mark.fast_proof]

KUHN_VALUE = -1 / 18
KUHN_UNIFORM = 11 / 12
LEDUC_UNIFORM = 4.7472


@pytest.fixture(scope="module")
def kuhn() -> SequenceGame:
    return SequenceGame("kuhn_poker")


@pytest.fixture(scope="module")
def leduc() -> SequenceGame:
    return SequenceGame("leduc_poker")


def curve(game: SequenceGame, matchmaker: Matchmaker, sizes: list[int]) -> list[float]:
    """Returns the NashConv of the average policy at each size of the population."""
    population: Population[Plans] = Population(game, matchmaker)
    found = []
    for size in sizes:
        population.grow(size - len(population.players))
        found.append(game.exploitability(population.average()))
    return found


def test_the_judge_and_the_best_responses_agree_on_known_numbers(kuhn: SequenceGame, leduc: SequenceGame) -> None:
    for game, known in ((kuhn, KUHN_UNIFORM), (leduc, LEDUC_UNIFORM)):
        assert game.exploitability(game.first()) == pytest.approx(known, abs=1e-4)
        population: Population[Plans] = Population(game, UniformWindow())
        population.grow(5)
        average = population.average()
        assert game.own_exploitability(average) == pytest.approx(game.exploitability(average), abs=1e-9)


def test_psro_solves_kuhn_poker(kuhn: SequenceGame) -> None:
    population: Population[Plans] = Population(kuhn, Psro())
    population.grow(30)
    found = population.drawn()
    assert kuhn.exploitability(found) < 0.1
    assert kuhn.exploitability(found) < 1e-6  # It is exact once the population holds all that matters.
    assert kuhn.value(*found) == pytest.approx(KUHN_VALUE, abs=1e-6)


def test_psro_from_solutions_that_come_late_solves_kuhn_poker(kuhn: SequenceGame) -> None:
    population: Population[Plans] = Population(kuhn, SolvedBeside(5))
    population.grow(99)
    assert kuhn.exploitability(population.drawn()) < 0.1


@pytest.mark.parametrize("weighting", ["squared", "linear", "variance"])
def test_pfsp_falls_over_time_on_kuhn_poker_and_plain_self_play_does_not(kuhn: SequenceGame, weighting: str) -> None:
    sizes = [5, 20, 80, 320]
    league = curve(kuhn, Pfsp(weighting), sizes)  # type: ignore[arg-type]
    self_play = curve(kuhn, Newest(), sizes)
    assert (np.diff(league) < 0).all(), league
    assert league[-1] < 0.05
    assert self_play[-1] > 0.5  # It goes round; uniform play has 0.917.
    assert (np.array(league) < np.array(self_play)).all(), (league, self_play)


@pytest.mark.parametrize("matchmaker", [UniformWindow(), Pfsp()], ids=["UniformWindow", "Pfsp"])
def test_leduc_poker_is_played_far_better_than_by_chance(leduc: SequenceGame, matchmaker: Matchmaker) -> None:
    found = curve(leduc, matchmaker, [10, 30, 100])
    assert (np.diff(found) < 0).all(), found
    assert found[-1] < LEDUC_UNIFORM / 5


def test_psro_plays_leduc_poker_far_better_than_by_chance_and_plain_self_play_does_not(leduc: SequenceGame) -> None:
    population: Population[Plans] = Population(leduc, Psro())
    population.grow(100)
    assert leduc.exploitability(population.drawn()) < LEDUC_UNIFORM / 4
    assert curve(leduc, Newest(), [100])[0] > 4
