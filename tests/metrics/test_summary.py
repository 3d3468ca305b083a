import math
import pickle
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.metrics.summary import EXACT_MAX, LARGEST, SKETCH_K, Summary

FINITE = st.lists(st.floats(-1e6, 1e6), max_size=300)
RANKS = (0.0, 0.01, 0.5, 0.9, 0.99, 1.0)
RANK_ERROR = 0.02
"""Three times what the sketch is off by in 99 of 100 cases: the test never fails by chance."""


def summary(values: Sequence[float], bounds: Sequence[float] | None = ()) -> Summary:
    found = Summary(bounds)
    found.add(values)
    return found


def figures(one: Summary) -> list[float]:
    return [one.count, one.min, one.max, one.last, one.not_finite, *one.buckets]


@given(FINITE, FINITE)
def test_two_parts_merged_are_the_whole(first: list[float], second: list[float]) -> None:
    bounds = (-10.0, 0.0, 10.0)
    merged, whole = summary(first, bounds), summary(first + second, bounds)
    merged.merge(summary(second, bounds))
    np.testing.assert_equal(figures(merged), figures(whole))
    assert merged.sum == pytest.approx(whole.sum, abs=1e-6)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=EXACT_MAX))
def test_few_values_have_the_figures_of_numpy(values: list[float]) -> None:
    found = summary(values)
    assert (found.min, found.max, found.last) == (min(values), max(values), values[-1])
    assert found.mean == pytest.approx(np.mean(values), abs=1e-6)
    np.testing.assert_allclose(found.quantiles(RANKS), np.quantile(values, RANKS), atol=1e-9)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(size=20_000),
        lambda rng: rng.lognormal(sigma=3, size=20_000),
        lambda rng: -np.sort(rng.exponential(size=20_000)),
        lambda rng: rng.integers(0, 5, 20_000).astype(float),
    ],
)
def test_quantiles_of_many_merged_values_lie_as_close_as_the_sketch_promises(
    draw: Callable[[np.random.Generator], np.ndarray],
) -> None:
    values = draw(np.random.default_rng(1))
    merged = Summary()
    for part in np.array_split(values, 37):
        merged.merge(pickle.loads(pickle.dumps(summary(part.tolist()))))  # noqa: S301  # As Ray does.
    assert (merged.count, merged.min, merged.max) == (len(values), values.min(), values.max())
    assert merged.mean == pytest.approx(values.mean())
    for rank, found in zip(RANKS, merged.quantiles(RANKS), strict=True):
        below, up_to = (values < found).mean(), (values <= found).mean()
        assert below - RANK_ERROR <= rank <= up_to + RANK_ERROR
    assert merged.quantiles([0.0, 1.0]) == [values.min(), values.max()]


def test_values_that_are_not_finite_are_counted_and_never_mixed_in() -> None:
    found = summary([2.0, math.nan, -math.inf, 3.0, 2 * LARGEST])
    assert (found.count, found.sum, found.min, found.max, found.not_finite) == (2, 5.0, 2.0, 3.0, 3)
    many = summary([1.0, math.nan] * 40 + [math.inf])
    assert (many.count, many.max, many.not_finite) == (40, 1.0, 41)


def test_a_sum_never_becomes_infinite() -> None:
    found = Summary(None)
    found.count, found.sum, found.min, found.max = 1, 1.7e308, 0.0, 0.0
    found.merge(found)
    assert math.isfinite(found.sum)


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=400))
def test_no_value_of_a_histogram_with_bounds_is_lost(values: list[float]) -> None:
    bounds = [-50.0, 0.0, 50.0]
    edges, counts = summary(values, bounds).histogram()
    array = np.array(values)
    expected = [np.sum(array <= -50), np.sum((array > -50) & (array <= 0)), np.sum((array > 0) & (array <= 50))]
    assert edges == bounds
    assert counts == [*expected, np.sum(array > 50)]


@pytest.mark.parametrize("size", [1, EXACT_MAX, 10 * SKETCH_K, 20_000])
def test_no_value_of_a_histogram_without_bounds_is_lost(size: int) -> None:
    values = np.random.default_rng(2).normal(size=size)
    edges, counts = summary(values.tolist()).histogram()
    assert sum(counts) == size
    assert all(count >= 0 for count in counts)
    assert edges[0] <= values.min() <= values.max() <= edges[-1]
    exact = np.histogram(values, edges)[0]
    assert np.abs(np.array(counts) - exact).max() <= max(1, 2 * RANK_ERROR * size)


def test_a_summary_of_nothing_has_no_figures() -> None:
    found = Summary()
    assert math.isnan(found.mean)
    assert math.isnan(found.quantiles([0.5])[0])
    assert found.histogram() == ([], [])


def test_summaries_with_other_buckets_do_not_merge() -> None:
    with pytest.raises(ValueError, match="do not merge"):
        Summary((1.0,)).merge(Summary((2.0,)))
