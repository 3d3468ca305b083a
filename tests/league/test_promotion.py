import math

import numpy as np
import pytest

from app.league.promotion import PromotionTest, Verdict

TRIALS = 1000


def share(verdict: Verdict, win_rate: float, draw_rate: float = 0.0) -> float:
    """Returns how many of 1,000 challengers of a strength get the verdict."""
    test, rng, found = PromotionTest(0.05, 0.1, 0.5, 0.6), np.random.default_rng(7), 0
    for _ in range(TRIALS):
        wins = losses = 0.0
        while (says := test.verdict(wins, losses)) is Verdict.UNDECIDED:
            if rng.random() < draw_rate:
                wins, losses = wins + 0.5, losses + 0.5
            elif rng.random() < win_rate:
                wins += 1
            else:
                losses += 1
        found += says is verdict
    return found / TRIALS


def test_an_equal_challenger_is_promoted_no_more_often_than_declared() -> None:
    assert share(Verdict.PROMOTE, 0.5) <= 0.05
    assert share(Verdict.PROMOTE, 0.5, draw_rate=0.5) <= 0.05


def test_a_better_challenger_is_rejected_no_more_often_than_declared() -> None:
    assert share(Verdict.REJECT, 0.6) <= 0.1 + 2 * (0.1 * 0.9 / TRIALS) ** 0.5
    assert share(Verdict.PROMOTE, 0.65) > 0.95


def test_the_evidence_is_the_log_likelihood_ratio() -> None:
    test = PromotionTest(0.05, 0.05, 0.5, 0.6)
    assert test.log_likelihood_ratio(3, 1) == pytest.approx(3 * math.log(1.2) + math.log(0.8))
    assert test.log_likelihood_ratio(0, 0) == 0.0
    assert test.verdict(0, 0) is Verdict.UNDECIDED
    assert test.verdict(17, 0) is Verdict.PROMOTE  # 17 · log 1.2 = 3.10 > log 20 = 2.996.
    assert test.verdict(16, 0) is Verdict.UNDECIDED
    assert test.verdict(0, 14) is Verdict.REJECT  # 14 · log 0.8 = -3.12 < -2.996.
    assert test.verdict(0, 13) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "settings", [{"alpha": 0.0}, {"alpha": 0.6}, {"beta": 0.0}, {"equal": 0.6, "better": 0.6}, {"better": 1.0}]
)
def test_settings_without_sense_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="promotion test needs"):
        PromotionTest(**settings)
