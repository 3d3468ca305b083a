import math

import pytest

from app.capacity.queueing import mean_service_s, mean_wait_s, rate_at, utilisation, wait_quantile_s
from app.errors import PlanError


def test_one_kind_of_customer_keeps_the_server_busy_for_rate_times_service() -> None:
    assert utilisation(600, 1e-3, 1e-3) == pytest.approx(0.6)


def test_customers_that_wake_the_server_cost_more_the_idler_it_is() -> None:
    """By hand: 400 a second, 1 ms busy and 2 ms idle: 0.8 / (0.6 + 0.8)."""
    share = utilisation(400, 1e-3, 2e-3)
    assert share == pytest.approx(0.8 / 1.4)
    assert 400 * mean_service_s(share, 1e-3, 2e-3) == pytest.approx(share)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 1.0])
def test_the_rate_at_a_utilisation_has_that_utilisation(share: float) -> None:
    rate = rate_at(share, 40e-6, 70e-6)
    assert share == 1 or utilisation(rate, 40e-6, 70e-6) == pytest.approx(share)


def test_more_than_one_server_can_take_is_an_error() -> None:
    with pytest.raises(PlanError, match=r"20000 arrivals a second of 50 µs"):
        utilisation(20_000, 50e-6, 50e-6)


def test_waits_are_those_of_the_text_books() -> None:
    """M/M/1 at 0.8: rho / (mu - lambda) = 0.8 / 200; M/D/1 is half of it."""
    assert mean_wait_s(800, 1e-3, 1e-3, variation=1) == pytest.approx(0.8 / 200)
    assert mean_wait_s(800, 1e-3, 1e-3) == pytest.approx(0.4 / 200)


def test_the_tail_of_waits_is_that_of_m_m_1() -> None:
    """P(W > t) = rho exp(-(mu - lambda) t): 1 % of customers wait longer than ln(80) / 200 s."""
    assert wait_quantile_s(0.99, 0.8, 0.8 / 200) == pytest.approx(math.log(80) / 200)
    assert wait_quantile_s(0.5, 0.3, 1.0) == 0
