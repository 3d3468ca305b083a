"""The league's proofs notice faults of matchmaking: with one put in, their figures get beyond their lines."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import app.league.matchmaking.pfsp
import app.league.matchmaking.psro
from app.league.matchmaking.matchmaker import Matchmaker
from app.league.matchmaking.past import Newest, UniformWindow
from app.league.matchmaking.pfsp import Pfsp
from app.league.matchmaking.psro import Psro
from app.league.payoff import Payoff
from app.league.promotion import PromotionTest, Verdict

from .oracles import Population
from .sequence_form import Plans, SequenceGame
from .test_league_promotion import TRIALS, verdicts

pytestmark = pytest.mark.mutant

Function = Callable[..., Any]


@cache
def kuhn() -> SequenceGame:
    return SequenceGame("kuhn_poker")


@dataclass(frozen=True, slots=True)
class Proof:
    """A figure of a proof in short form, and what it stays below without a fault."""

    figure: Callable[[], float]
    line: float


def drawn_from(matchmaker: Matchmaker) -> Callable[[], float]:
    """Returns what finds the NashConv of the mixture that a matchmaker draws from Kuhn poker's population."""

    def figure() -> float:
        population: Population[Plans] = Population(kuhn(), matchmaker)
        population.grow(40)
        return kuhn().exploitability(population.drawn())

    return figure


def false_promotions() -> float:
    """Returns the share of equal players who are promoted."""
    test = PromotionTest(alpha=0.05, beta=0.05, equal=0.5, better=0.6)
    return verdicts(test, 0.5, 0.0, 0).count(Verdict.PROMOTE) / TRIALS


def missed_promotions() -> float:
    """Returns the share of better players who are not promoted."""
    test = PromotionTest(alpha=0.05, beta=0.05, equal=0.5, better=0.6)
    return 1 - verdicts(test, 0.6, 0.0, 0).count(Verdict.PROMOTE) / TRIALS


PSRO = Proof(drawn_from(Psro()), 0.1)
PFSP = Proof(drawn_from(Pfsp()), 0.1)
UNIFORM = Proof(drawn_from(UniformWindow()), 0.12)
FALSE = Proof(false_promotions, 0.0501)
MISSED = Proof(missed_promotions, 0.065)


def winner_swapped(record: Function) -> Function:
    """Results: the loser is said to have won."""
    return lambda self, home, away, score: record(self, home, away, 1 - score)


def weighting_inverted(pfsp: Function) -> Function:
    """PFSP: the easy ones are preferred."""
    return lambda win_rates, weighting: pfsp(1 - win_rates, weighting)


def payoff_negated(solve: Function) -> Function:
    """PSRO: what one wins counts as lost."""
    return lambda payoff: solve(-payoff)


def only_the_newest(_: Function) -> Function:
    """Windows: the past is forgotten."""
    return lambda _, player, candidates, payoff: Newest().probabilities(player, candidates, payoff)


def labels_swapped(evidence: Function) -> Function:
    """Promotion: losses count as wins."""
    return lambda self, wins, losses: evidence(self, losses, wins)


def draws_are_wins(evidence: Function) -> Function:
    """Promotion: one of three losses counts as a win."""
    return lambda self, wins, losses: evidence(self, wins + losses / 3, losses * 2 / 3)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault."""

    name: str
    owner: object
    attribute: str
    fault: Callable[[Function], Function]
    proof: Proof


MUTANTS = (
    Mutant("payoff: winner's label swapped (PSRO)", Payoff, "record", winner_swapped, PSRO),
    Mutant("payoff: winner's label swapped (PFSP)", Payoff, "record", winner_swapped, PFSP),
    Mutant("pfsp: weighting inverted", app.league.matchmaking.pfsp, "pfsp", weighting_inverted, PFSP),
    Mutant(
        "psro: payoff has the wrong sign", app.league.matchmaking.psro, "zero_sum_equilibrium", payoff_negated, PSRO
    ),
    Mutant("window: the newest alone", UniformWindow, "probabilities", only_the_newest, UNIFORM),
    Mutant("promotion: labels swapped", PromotionTest, "log_likelihood_ratio", labels_swapped, MISSED),
    Mutant("promotion: some losses are wins", PromotionTest, "log_likelihood_ratio", draws_are_wins, FALSE),
)


@pytest.mark.parametrize("proof", [PSRO, PFSP, UNIFORM, FALSE, MISSED])
def test_without_a_fault_the_line_is_kept(proof: Proof) -> None:
    found = proof.figure()
    assert np.isfinite(found)
    assert found < proof.line


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_fault_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutant.owner, mutant.attribute, mutant.fault(getattr(mutant.owner, mutant.attribute)))
    assert mutant.proof.figure() >= mutant.proof.line
