"""The token bucket."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.sessions.keys import Key, Quota
from app.sessions.quota import TokenBucket

RATES = st.floats(0.01, 1e4)
BURSTS = st.integers(1, 100)
PAUSES = st.lists(st.floats(0, 3) | st.just(0.0), max_size=200)


@given(RATES, BURSTS, PAUSES)
def test_a_bucket_never_admits_more_than_its_rate_and_one_burst_in_any_window(
    rate: float, burst: int, pauses: list[float]
) -> None:
    bucket, now_s, admitted = TokenBucket(rate, burst), 1e9, []
    for pause in pauses:
        now_s += pause
        if bucket.take(now_s):
            admitted.append(now_s)
    for first in range(len(admitted)):
        for last in range(first, len(admitted)):
            allowed = rate * (admitted[last] - admitted[first]) + burst
            assert last - first + 1 <= allowed + 1e-3 * rate + 1e-6  # The clock's own steps near 1e9 are 1e-7 s.


@given(RATES, BURSTS)
def test_a_bucket_that_was_left_alone_admits_its_burst_and_no_more(rate: float, burst: int) -> None:
    bucket = TokenBucket(rate, burst)
    assert [bucket.take(5.0) for _ in range(burst + 1)] == [True] * burst + [False]
    assert [bucket.take(5.0 + 2 * burst / rate) for _ in range(burst + 1)] == [True] * burst + [False]


def test_a_steady_client_gets_exactly_its_rate() -> None:
    bucket = TokenBucket(2.0, 1)
    assert [bucket.take(at / 4) for at in range(8)] == [True, False, True, False, True, False, True, False]


def test_a_clock_that_goes_back_neither_refills_nor_refuses_for_ever() -> None:
    bucket = TokenBucket(1.0, 1)
    assert bucket.take(1_000.0)
    assert not bucket.take(0.0)
    assert bucket.take(1.0)


def test_a_change_of_size_is_no_refill() -> None:
    bucket = TokenBucket(1.0, 4)
    for _ in range(3):
        bucket.take(0.0)
    larger, smaller = bucket.resized(1.0, 100), bucket.resized(1.0, 1)
    assert [larger.take(0.0), larger.take(0.0)] == [True, False]
    assert [smaller.take(0.0), smaller.take(0.0)] == [True, False]


@pytest.mark.parametrize(("rate", "burst"), [(0.0, 1), (-1.0, 1), (float("nan"), 1), (1.0, 0)])
def test_a_bucket_that_could_admit_nothing_is_refused(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match=f"got {rate} and {burst}"):
        TokenBucket(rate, burst)
    with pytest.raises(ValueError, match="a quota needs"):
        Quota(steps_per_s=rate, burst_steps=burst)


def test_a_key_without_a_secret_cannot_ask_for_tokens() -> None:
    with pytest.raises(ValueError, match="'team' has no secret"):
        Key("team", "k", require_token=True)
    with pytest.raises(ValueError, match="'team' has no secret"):
        Key("team", "k", static_token=True)
