import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from app.algorithms.trust_region import TrustRegion, trust_region_step
from app.errors import NonFiniteLossError

REGION = TrustRegion(max_kl=0.02, cg_steps=10, damping=0.0, line_search_steps=10, shrink=0.5)


def identity(x: Tensor) -> Tensor:
    return x


class Bowl:
    """Reaches slope · x, less a bend of it, where the divergence is half the weighted square of what x moved."""

    def __init__(self, slope: list[float], weights: list[float], bend: float = 0.0, share: float = 1.0) -> None:
        self.x = nn.Parameter(torch.zeros(len(slope), dtype=torch.float64))
        self._slope, self._weights = (torch.tensor(x, dtype=torch.float64) for x in (slope, weights))
        self._bend, self._share = bend, share

    def gain(self) -> Tensor:
        return self._share * (self._slope @ self.x - self._bend * self.x.square().sum())

    def divergence(self) -> Tensor:
        return self._share * 0.5 * (self._weights * self.x.square()).sum()


def test_a_step_has_the_direction_of_the_natural_gradient_and_the_length_that_the_region_allows() -> None:
    bowl = Bowl([2.0, 1.0], [4.0, 1.0])
    found = trust_region_step([bowl.x], bowl, replace(REGION, max_kl=0.25), identity)
    # F⁻¹ g = (1/2, 1), its curvature is 2, and √(2 · 0.25 / 2) = 1/2.
    assert bowl.x.tolist() == pytest.approx([0.25, 0.5])
    assert (found.kl, found.gain, found.tried) == (pytest.approx(0.25), pytest.approx(1.0), 1)
    assert found.gradient_norm == pytest.approx(math.sqrt(5))


@given(
    st.lists(st.floats(-3, 3), min_size=3, max_size=3),
    st.lists(st.floats(0.1, 5), min_size=3, max_size=3),
    st.floats(0, 20),
    st.floats(1e-4, 1),
)
def test_whatever_is_to_be_reached_the_divergence_stays_within_the_region_and_nothing_is_lost(
    slope: list[float], weights: list[float], bend: float, max_kl: float
) -> None:
    bowl = Bowl(slope, weights, bend)
    found = trust_region_step([bowl.x], bowl, replace(REGION, max_kl=max_kl), identity)
    assert float(bowl.divergence()) <= max_kl
    assert float(bowl.gain()) >= 0
    assert found.gain == pytest.approx(float(bowl.gain()))


def test_the_line_search_shortens_a_step_that_reaches_less() -> None:
    bowl = Bowl([1.0], [1.0], bend=1.0)  # The best is at 1/2, and from 1 on nothing is gained.
    found = trust_region_step([bowl.x], bowl, replace(REGION, max_kl=2.0), identity)
    assert (bowl.x.item(), found.tried) == (pytest.approx(0.5), 3)  # 2, 1, 1/2.


def test_where_no_length_reaches_more_the_policy_stays_as_it_is() -> None:
    class Turned(Bowl):
        """Its gradient has the wrong sign."""

        def gain(self) -> Tensor:
            gain = super().gain()
            return -gain + 2 * gain.detach()

    bowl = Turned([1.0, -2.0], [1.0, 1.0])
    found = trust_region_step([bowl.x], bowl, REGION, identity)
    assert bowl.x.tolist() == [0.0, 0.0]
    assert found[:3] == (0.0, 0.0, 10)


def test_without_a_slope_nothing_moves() -> None:
    bowl = Bowl([0.0, 0.0], [1.0, 1.0])
    assert trust_region_step([bowl.x], bowl, REGION, identity) == (0.0, 0.0, 0, 0.0)
    assert bowl.x.tolist() == [0.0, 0.0]


def test_shares_of_workers_add_up_to_the_step_of_one() -> None:
    alone, half = Bowl([2.0, 1.0], [4.0, 1.0], 0.1), Bowl([2.0, 1.0], [4.0, 1.0], 0.1, share=0.5)
    expected = trust_region_step([alone.x], alone, REGION, identity)
    assert trust_region_step([half.x], half, REGION, lambda x: 2 * x) == pytest.approx(expected)
    torch.testing.assert_close(half.x, alone.x)


@pytest.mark.parametrize("slope", [math.nan, math.inf])
def test_a_slope_that_is_not_finite_is_told_and_nothing_moves(slope: float) -> None:
    bowl = Bowl([slope], [1.0])
    with pytest.raises(NonFiniteLossError, match="TRPO's surrogate is nan and its gradient norm"):
        trust_region_step([bowl.x], bowl, REGION, identity)
    assert bowl.x.tolist() == [0.0]
