import math

import numpy as np
import pytest
from scipy.stats import ks_2samp

from app.checks.drift_statistics import (
    bin_counts,
    kolmogorov_smirnov,
    population_stability_index,
    quantile_edges,
)
from app.checks.windows import Drift, Saturated


def starts(values: np.ndarray) -> np.ndarray:
    return np.zeros(len(values), np.bool_)


def drift(statistic: str = "psi", limit: float = 0.25, rows: int = 1000) -> Drift:
    found = population_stability_index if statistic == "psi" else kolmogorov_smirnov
    return Drift(statistic, found, limit, 10, rows, rows)


def test_the_index_of_two_bins_is_that_of_the_formula() -> None:
    # Half a value more each: shares 0.5, 0.5 and 0.75, 0.25; (0.25) ln 1.5 + (-0.25) ln 0.5 = 0.101366 + 0.173287.
    assert population_stability_index(np.array([1.5, 1.5]), np.array([2.5, 0.5])) == pytest.approx(0.274653, abs=1e-6)
    assert population_stability_index(np.array([3.0, 1.0]), np.array([3.0, 1.0])) == 0


def test_the_distance_is_that_of_scipy_where_every_value_has_a_bin() -> None:
    rng = np.random.default_rng(3)
    reference, other = rng.integers(0, 9, 500).astype(float), rng.integers(1, 12, 300).astype(float)
    edges = quantile_edges(reference, 1000)
    found = kolmogorov_smirnov(bin_counts(reference, edges), bin_counts(other, edges))
    assert found == pytest.approx(ks_2samp(reference, other).statistic)


def test_bins_hold_equal_shares_and_two_more_hold_what_was_never_seen() -> None:
    edges = quantile_edges(np.arange(1.0, 101.0), 4)
    assert edges.tolist() == [np.nextafter(1.0, -np.inf), 25, 50, 75, 100]
    assert bin_counts(np.array([0.0, 1, 25, 26, 100, 101]), edges).tolist() == [1, 2, 1, 0, 1, 1]


def test_the_same_distribution_does_not_drift_and_a_shifted_one_does() -> None:
    rng = np.random.default_rng(0)
    for statistic, limit in (("psi", 0.25), ("ks", 0.1)):
        check = drift(statistic, limit)
        for _ in range(4):
            values = rng.normal(size=(500, 2))
            assert check.look(values, starts(values)) is None
        shifted = np.column_stack([rng.normal(size=1000), rng.normal(1.0, size=1000)])
        fault = check.look(shifted, starts(shifted))
        assert fault is not None
        assert fault.element == 1
        assert fault.value > limit
        assert fault.rows is None
        assert fault.allowed == f"{statistic} of at most {limit} over 1000 rows"


def test_a_constant_that_becomes_another_one_drifts_to_either_side() -> None:
    for other in (2.0, 4.0):
        check = drift()
        assert check.look(np.full((1000, 1), 3.0), np.zeros(1000, np.bool_)) is None
        assert check.look(np.full((1000, 1), 3.0), np.zeros(1000, np.bool_)) is None
        assert check.look(np.full((1000, 1), other), np.zeros(1000, np.bool_)) is not None


def test_nan_is_no_part_of_a_distribution() -> None:
    check = drift()
    values = np.random.default_rng(1).normal(size=(1000, 1))
    check.look(values, starts(values))
    spoilt = values.copy()
    spoilt[::3] = math.nan
    assert check.look(spoilt, starts(spoilt)) is None


def test_recorded_rows_may_be_the_reference() -> None:
    check = drift(rows=100)
    check.refer(np.linspace(0, 1, 50)[:, None])
    near, far = np.linspace(0, 1, 100)[:, None], np.linspace(2, 3, 100)[:, None]
    assert check.look(near, starts(near)) is None
    assert check.look(far, starts(far)) is not None


def test_a_window_is_saturated_where_most_of_an_element_stands_at_either_bound() -> None:
    check = Saturated(-1.0, 1.0, 0.01, 0.5, 4)
    half = np.array([[0.0, -1.0], [0.5, 0.995], [0.0, 0.0], [0.1, 0.2]])
    assert check.look(half, starts(half)) is None
    assert check.look(half[:2], starts(half[:2])) is None
    more = np.array([[0.0, 1.0], [0.0, 0.0]])
    fault = check.look(more, starts(more))
    assert fault is not None
    assert (fault.element, fault.value, fault.row) == (1, 0.75, 1)
    assert fault.allowed == "at most 50% of 4 rows at the bounds of -1 to 1"
