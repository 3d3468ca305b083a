import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from app.algorithms.popart import LARGEST_DEVIATION, SMALLEST_DEVIATION, Moments, first_moments, rescale, updated


def moments(mean: float, square: float) -> Moments:
    return Moments(torch.tensor([mean], dtype=torch.float64), torch.tensor([square], dtype=torch.float64))


def test_moments_follow_the_batch_by_the_step_size() -> None:
    target = torch.tensor([[1.0], [3.0], [float("nan")]])
    got = updated(moments(0, 1), target, torch.tensor([1.0, 1.0, 0.0]), 0.5)
    assert (got.mean.item(), got.square.item()) == (1.0, 3.0)  # Halfway from (0, 1) to (2, 5).
    assert got.deviation.item() == pytest.approx(2**0.5)


def test_a_step_size_of_one_takes_the_batchs_own_moments() -> None:
    target = torch.randn(1000, 2, generator=torch.Generator().manual_seed(0)) * torch.tensor([3.0, 0.1]) + 7
    got = updated(first_moments(2), target, torch.ones(1000), 1.0)
    normal = got.normalise(target)
    torch.testing.assert_close(normal.mean(0), torch.zeros(2), atol=1e-4, rtol=0)
    torch.testing.assert_close(normal.std(0, correction=0), torch.ones(2), atol=1e-4, rtol=0)
    torch.testing.assert_close(got.denormalise(normal), target)


@given(st.floats(-1e3, 1e3), st.floats(1e-2, 1e3), st.floats(-1e3, 1e3), st.floats(1e-2, 1e3))
def test_rescaling_keeps_what_the_head_says(mean: float, deviation: float, to_mean: float, to_deviation: float) -> None:
    old, new = moments(mean, mean**2 + deviation**2), moments(to_mean, to_mean**2 + to_deviation**2)
    torch.manual_seed(0)
    head, x = nn.Linear(4, 1).double(), torch.randn(5, 4, dtype=torch.float64)
    before = old.denormalise(head(x)).detach()
    rescale(head, old, new)
    torch.testing.assert_close(new.denormalise(head(x)).detach(), before, rtol=1e-6, atol=1e-6)


def test_targets_that_never_differ_are_not_blown_up() -> None:
    assert updated(first_moments(1), torch.full((3, 1), 5.0), torch.ones(3), 1.0).deviation.item() == SMALLEST_DEVIATION
    huge = updated(first_moments(1), torch.tensor([[1e9], [-1e9]]), torch.ones(2), 1.0)
    assert huge.deviation.item() == LARGEST_DEVIATION


def test_a_batch_without_a_row_that_counts_changes_nothing() -> None:
    before = moments(2, 5)
    assert updated(before, torch.full((3, 1), float("nan")), torch.zeros(3), 0.1) is before


@pytest.mark.parametrize("step_size", [0.0, -0.1, 1.1])
def test_a_step_size_outside_its_range_is_refused(step_size: float) -> None:
    with pytest.raises(ValueError, match=r"step size in \(0, 1\]"):
        updated(first_moments(1), torch.zeros(1, 1), torch.ones(1), step_size)
