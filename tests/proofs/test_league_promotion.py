"""Promotion by evidence: equal challengers are promoted no more often than declared, whenever one looks.

Matches are drawn with the true rates: the mathematics of the test is under test, and no learner.
"""

import numpy as np
import pytest

from app.league.promotion import PromotionTest, Verdict

pytestmark = [pytest.mark.proof, pytest.mark.fast_proof]

TRIALS = 1000
LONGEST = 20_000
"""Matches after which a trial ends undecided: none does."""


def verdicts(test: PromotionTest, win_rate: float, draw_rate: float, seed: int) -> list[Verdict]:
    """Returns what each of 1,000 challengers got."""
    found = []
    for trial in range(TRIALS):
        rng, wins, losses = np.random.default_rng([seed, trial]), 0.0, 0.0
        verdict = Verdict.UNDECIDED
        for drawn, won in rng.random((LONGEST, 2)):
            score = 0.5 if drawn < draw_rate else float(won < win_rate)
            wins, losses = wins + score, losses + 1 - score
            verdict = test.verdict(wins, losses)
            if verdict is not Verdict.UNDECIDED:
                break
        found.append(verdict)
    return found


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("draw_rate", [0.0, 0.5])
def test_equal_players_are_promoted_no_more_often_than_declared(draw_rate: float, seed: int) -> None:
    found = verdicts(PromotionTest(alpha=0.05, beta=0.05, equal=0.5, better=0.6), 0.5, draw_rate, seed)
    assert found.count(Verdict.PROMOTE) <= 0.05 * TRIALS
    assert found.count(Verdict.UNDECIDED) == 0


def test_a_smaller_error_rate_holds_within_what_so_many_trials_can_tell() -> None:
    alpha = 0.01
    found = verdicts(PromotionTest(alpha=alpha, beta=0.05, equal=0.5, better=0.6), 0.5, 0.0, 0)
    assert found.count(Verdict.PROMOTE) <= alpha * TRIALS + 2 * (alpha * (1 - alpha) * TRIALS) ** 0.5


def test_better_players_are_promoted() -> None:
    found = verdicts(PromotionTest(alpha=0.05, beta=0.05, equal=0.5, better=0.6), 0.6, 0.0, 0)
    assert found.count(Verdict.PROMOTE) >= (1 - 0.05) * TRIALS - 2 * (0.05 * 0.95 * TRIALS) ** 0.5


def test_a_raw_threshold_would_promote_far_too_many() -> None:
    """What the test is for: "ahead by 10 % after any of 20 to 500 matches" promotes most equal players some time."""
    scores = np.random.default_rng(0).random((TRIALS, 500)) < 0.5
    rates = scores.cumsum(1) / np.arange(1, 501)
    assert (rates[:, 19:] >= 0.6).any(1).mean() > 0.3
