import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.league.nash import zero_sum_equilibrium


@pytest.mark.parametrize(
    ("payoff", "strategy", "value"),
    [
        ([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], [1 / 3, 1 / 3, 1 / 3], 0.0),
        ([[1, -1], [-1, 1]], [0.5, 0.5], 0.0),
        ([[3, -1], [-2, 1]], [3 / 7, 4 / 7], 1 / 7),
        ([[2, 3], [0, 1]], [1.0, 0.0], 2.0),
        ([[5]], [1.0], 5.0),
        ([[0, -1, 2], [1, 0, -3], [-2, 3, 0]], [3 / 6, 2 / 6, 1 / 6], 0.0),
    ],
)
def test_known_games_have_their_equilibrium(payoff: list[list[float]], strategy: list[float], value: float) -> None:
    got, worth = zero_sum_equilibrium(np.array(payoff, float))
    np.testing.assert_allclose(got, strategy, atol=1e-9)
    assert worth == pytest.approx(value, abs=1e-9)


@settings(max_examples=30)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32))
def test_nobody_gains_by_leaving_an_equilibrium(rows: int, columns: int, seed: int) -> None:
    payoff = np.random.default_rng(seed).normal(size=(rows, columns))
    row, value = zero_sum_equilibrium(payoff)
    column, opposite = zero_sum_equilibrium(-payoff.T)
    assert value == pytest.approx(-opposite, abs=1e-7)
    assert (row @ payoff).min() >= value - 1e-7
    assert (payoff @ column).max() <= value + 1e-7


@pytest.mark.parametrize("payoff", [np.zeros((0, 2)), np.zeros(3), np.array([[np.nan]]), np.array([[np.inf]])])
def test_what_is_no_game_is_refused(payoff: np.ndarray) -> None:
    with pytest.raises(ValueError, match="matrix of finite numbers"):
        zero_sum_equilibrium(payoff)
