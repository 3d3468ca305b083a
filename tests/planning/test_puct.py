"""The formulas of the search, by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from app.planning.puct import exploration_rate, legal_priors, noisy_priors, puct, visit_policy


def test_the_exploration_rate_begins_at_init_and_grows_by_the_logarithm_of_the_visits() -> None:
    assert exploration_rate(-1, 1.25, 19_652) == 1.25
    assert exploration_rate(19_651, 1.25, 19_652) == pytest.approx(1.25 + 0.6931471805599453)  # log 2


def test_scores_are_mean_outcomes_and_a_bonus_for_what_is_probable_and_seldom_tried() -> None:
    # N(s) = 1 + 8 + 0 + 0 = 9, so sqrt N(s) = 3; with C = 2 the bonus is 6 P / (1 + N).
    got = puct(np.array([0.6, 0.3, 0.1]), np.array([8.0, 0, 0]), np.array([4.0, 0, 0]), 2.0)
    np.testing.assert_allclose(got, [0.5 + 3.6 / 9, 1.8, 0.6])


def test_before_any_visit_the_priors_decide() -> None:
    np.testing.assert_allclose(puct(np.array([0.2, 0.8]), np.zeros(2), np.zeros(2), 1.5), [0.3, 1.2])


def test_priors_of_what_is_not_legal_are_shared_out() -> None:
    np.testing.assert_allclose(
        legal_priors(np.array([0.5, 0.3, 0.2]), np.array([True, False, True])), [5 / 7, 0, 2 / 7]
    )


def test_priors_that_leave_nothing_legal_become_alike() -> None:
    np.testing.assert_allclose(legal_priors(np.array([1.0, 0, 0]), np.array([False, True, True])), [0, 0.5, 0.5])


def test_visits_become_a_policy_by_the_temperature() -> None:
    visits = np.array([4.0, 0, 12, 4])
    np.testing.assert_allclose(visit_policy(visits, 1), [0.2, 0, 0.6, 0.2])
    np.testing.assert_allclose(visit_policy(visits, 0.5), [1 / 11, 0, 9 / 11, 1 / 11])
    np.testing.assert_array_equal(visit_policy(visits, 0), [0, 0, 1, 0])
    np.testing.assert_array_equal(visit_policy(np.array([5.0, 5]), 0), [1, 0])


@pytest.mark.parametrize("temperature", [1e-6, 1e-3, 100])
def test_any_temperature_stays_finite(temperature: float) -> None:
    policy = visit_policy(np.array([800.0, 799, 0]), temperature)
    assert policy.sum() == pytest.approx(1)
    assert policy[2] == 0


@pytest.mark.parametrize(("visits", "temperature"), [([0.0, 0], 1.0), ([1.0, 0], -1.0)])
def test_no_visits_and_negative_temperatures_are_refused(visits: list[float], temperature: float) -> None:
    with pytest.raises(ValueError, match="allowed are visits not all 0"):
        visit_policy(np.array(visits), temperature)


@given(arrays.arrays(bool, 7).filter(np.any), st.floats(0.03, 10), st.floats(0, 1), st.integers(0, 2**32))
def test_noise_keeps_to_what_is_legal_and_adds_up_to_one(
    legal: np.ndarray, alpha: float, share: float, seed: int
) -> None:
    priors = legal_priors(np.arange(7.0), legal)
    noisy = noisy_priors(priors, legal, alpha, share, np.random.default_rng(seed))
    assert noisy.sum() == pytest.approx(1)
    assert not noisy[~legal].any()
    assert (noisy >= (1 - share) * priors - 1e-12).all()
