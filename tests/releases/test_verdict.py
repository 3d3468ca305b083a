import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.releases.statistics import ShadowStatistics, Statistics
from app.releases.verdict import Evidence, Looks, Thresholds, judge, look_of

NOTHING = Statistics()
RATES = Thresholds(max_error_rate=0.01, min_ticks=1000)
RETURNS = Thresholds(max_return_loss=1.0, min_games=50)


def played(games: int, mean: float, variance: float = 1.0) -> Statistics:
    squares = games * mean**2 + (games - 1) * variance
    return Statistics(games=games, return_sum=games * mean, return_squares=squares)


def evidence(
    own: Statistics = NOTHING, champion: Statistics = NOTHING, shadow: ShadowStatistics | None = None
) -> Evidence:
    return Evidence(own, champion, shadow or ShadowStatistics())


def reason(evidence_: Evidence, thresholds: Thresholds) -> str | None:
    return judge(evidence_, thresholds, {})[0]


def test_many_errors_are_a_reason_and_few_are_none() -> None:
    many = reason(evidence(Statistics(ticks=1000, errors=40, deadline_misses=20)), RATES)
    assert many is not None
    assert many.startswith("error rate 60 of 1000 is above 0.01")
    assert reason(evidence(Statistics(ticks=1000, errors=12)), RATES) is None  # 1.2 %, and 1 % is well within reach.


def test_nothing_is_decided_before_there_are_enough_samples() -> None:
    assert reason(evidence(Statistics(ticks=999, errors=999)), RATES) is None
    assert reason(evidence(played(49, 0.0), played(500, 100.0)), RETURNS) is None
    assert reason(evidence(played(500, 0.0), played(49, 100.0)), RETURNS) is None


def test_a_shadow_that_fails_or_disagrees_is_a_reason() -> None:
    assert "shadow error rate" in str(reason(evidence(shadow=ShadowStatistics(900, failed=100)), RATES))
    thresholds = Thresholds(min_agreement=0.9)
    assert "agreement 700 of 1000" in str(reason(evidence(shadow=ShadowStatistics(1000, 700)), thresholds))
    assert reason(evidence(shadow=ShadowStatistics(1000, 890)), thresholds) is None


def test_a_mean_return_below_its_threshold_is_a_reason() -> None:
    assert "mean return 4 of 100" in str(reason(evidence(played(100, 4.0)), Thresholds(min_mean_return=5.0)))
    assert reason(evidence(played(100, 5.0)), Thresholds(min_mean_return=5.0)) is None


def test_a_return_far_below_the_champions_is_a_reason_and_one_within_the_margin_is_none() -> None:
    assert "more than 1 below" in str(reason(evidence(played(100, 5.0), played(900, 10.0)), RETURNS))
    assert reason(evidence(played(100, 9.5), played(900, 10.0)), RETURNS) is None
    assert reason(evidence(played(100, 15.0), played(900, 10.0)), RETURNS) is None


@pytest.mark.parametrize(("samples", "look"), [(49, None), (50, 0), (99, 0), (100, 1), (399, 2), (400, 3)])
def test_a_look_is_taken_whenever_the_samples_have_doubled(samples: int, look: int | None) -> None:
    assert look_of(samples, 50) == look


def test_between_two_looks_nothing_is_decided() -> None:
    bad = evidence(Statistics(ticks=1900, errors=1900))
    assert judge(bad, RATES, {"error rate": 0})[0] is None
    assert judge(bad, RATES, {})[0] is not None


@given(st.integers(0, 10**7), st.integers(0, 10**6), st.integers(10, 5000))
def test_a_challenger_within_its_bounds_is_never_taken_back(ticks: int, errors: int, first: int) -> None:
    own = Statistics(ticks=ticks, errors=min(errors, ticks // 100))
    assert reason(evidence(own), Thresholds(max_error_rate=0.01, min_ticks=first)) is None


@given(st.floats(-1e3, 1e3), st.floats(0, 1e4), st.floats(0, 100), st.integers(10, 10**5), st.integers(10, 10**5))
def test_a_return_above_the_margin_is_never_a_reason(
    mean: float, variance: float, better: float, games: int, others: int
) -> None:
    found = evidence(played(games, mean + better, variance), played(others, mean, variance))
    assert reason(found, Thresholds(max_return_loss=1.0, min_games=10)) is None


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=40))
def test_looks_only_grow(growths: list[int]) -> None:
    looks: Looks = {}
    ticks = 0
    for growth in growths:
        ticks += growth
        _, after = judge(evidence(Statistics(ticks=ticks)), RATES, looks)
        assert after.get("error rate", -1) >= looks.get("error rate", -1)
        looks = after


def test_an_honest_challenger_at_the_very_threshold_is_taken_back_no_more_often_than_allowed() -> None:
    thresholds = Thresholds(max_error_rate=0.05, min_ticks=100, mistake_chance=0.1)
    random_ = random.Random(3)  # noqa: S311
    mistakes = 0
    for _ in range(200):
        looks: Looks = {}
        errors = 0
        for block in range(1, 33):
            errors += sum(random_.random() < 0.05 for _ in range(50))
            verdict, looks = judge(evidence(Statistics(ticks=50 * block, errors=errors)), thresholds, looks)
            if verdict is not None:
                mistakes += 1
                break
    assert mistakes <= 20  # A tenth; the bounds of the union are not tight.
