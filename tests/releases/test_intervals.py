import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.releases.intervals import difference_bounds, mean_bounds, quantile, wilson


def test_the_bounds_of_a_rate_are_those_of_the_textbook() -> None:
    # 15 of 50 at 95 %: centre (0.3 + 0.0384)/1.0768, half 1.96/1.0768 sqrt(0.0042 + 0.000384).
    assert wilson(15, 50, 1.96) == pytest.approx((0.19103, 0.43750), abs=1e-4)


def test_no_success_has_the_lower_bound_zero_and_an_upper_one_above_it() -> None:
    low, high = wilson(0, 100, 1.96)
    assert low == 0
    assert high == pytest.approx(0.03699, abs=1e-5)  # 3.8416 / 103.8416


@given(st.integers(1, 10_000), st.data())
def test_a_rate_lies_within_its_bounds(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    low, high = wilson(successes, trials, 3.0)
    assert 0 <= low <= successes / trials + 1e-12
    assert successes / trials - 1e-12 <= high <= 1


@pytest.mark.parametrize(("successes", "trials"), [(1, 0), (3, 2), (-1, 5)])
def test_counts_that_are_none_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match=f"got {successes} of {trials}"):
        wilson(successes, trials, 1.96)


def test_the_bounds_of_means_are_standard_errors_away() -> None:
    assert mean_bounds(10.0, 4.0, 100, 2.0) == pytest.approx((9.6, 10.4))
    assert difference_bounds((10.0, 9.0, 100), (8.0, 16.0, 100), 2.0) == pytest.approx((1.0, 3.0))


def test_a_bound_that_errs_once_in_forty_is_two_standard_errors_away() -> None:
    assert quantile(0.025) == pytest.approx(1.95996, abs=1e-5)
