import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from app.algorithms.distributional import c51_loss, expected, project, quantile_loss
from app.algorithms.dqn import Transitions

SUPPORT = torch.linspace(-2, 2, 5, dtype=torch.float64)


def transitions(reward: float, discount: float, action: int = 0) -> Transitions:
    one = {"dtype": torch.float64}
    return Transitions(torch.tensor([action]), torch.tensor([reward], **one), torch.tensor([discount], **one),
                       torch.ones(1, **one))  # fmt: skip


def by_loop(probs: list[float], reward: float, discount: float) -> list[float]:
    """Returns the paper's algorithm 1."""
    found = [0.0] * 5
    for atom, prob in zip(SUPPORT.tolist(), probs, strict=True):
        at = (min(max(reward + discount * atom, -2.0), 2.0) + 2) / 1.0
        low, high = math.floor(at), math.ceil(at)
        if low == high:
            found[low] += prob
        else:
            found[low] += prob * (high - at)
            found[high] += prob * (at - low)
    return found


probs = st.lists(st.floats(0.01, 1), min_size=5, max_size=5).map(lambda xs: [x / sum(xs) for x in xs])


@given(probs, st.floats(-5, 5), st.sampled_from([0.0, 0.5, 0.99, 1.0]))
def test_the_projection_is_the_papers(given_probs: list[float], reward: float, discount: float) -> None:
    got = project(torch.tensor([given_probs], dtype=torch.float64), transitions(reward, discount), SUPPORT)[0]
    assert got.sum().item() == pytest.approx(1.0)
    torch.testing.assert_close(got, torch.tensor(by_loop(given_probs, reward, discount), dtype=torch.float64))


@given(probs, st.floats(-1, 1))
def test_within_the_support_the_projection_keeps_the_mean(given_probs: list[float], reward: float) -> None:
    mean = (torch.tensor(given_probs, dtype=torch.float64) @ SUPPORT).item()
    got = project(torch.tensor([given_probs], dtype=torch.float64), transitions(reward, 0.5), SUPPORT)[0]
    assert (got @ SUPPORT).item() == pytest.approx(reward + 0.5 * mean)


def test_the_loss_is_least_where_the_distribution_is_the_target() -> None:
    target = torch.tensor([[0.1, 0.2, 0.4, 0.2, 0.1]], dtype=torch.float64)
    logits = torch.zeros(1, 2, 5, dtype=torch.float64)
    logits[0, 1] = target[0].log()
    logits.requires_grad_()
    got = c51_loss(logits, transitions(0, 1, action=1), target, SUPPORT)
    got.total.backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert logits.grad.abs().max().item() < 1e-12
    assert got.total.item() == pytest.approx(-(target * target.log()).sum().item())
    assert got.error.tolist() == pytest.approx([0.0])
    torch.testing.assert_close(expected(logits.detach(), SUPPORT), torch.zeros(1, 2, dtype=torch.float64))


def quantile_by_loop(chosen: list[float], target: list[float]) -> float:
    total = 0.0
    for i, quantile in enumerate(chosen):
        tau = (i + 0.5) / len(chosen)
        inner = 0.0
        for sample in target:
            u = sample - quantile
            huber = 0.5 * u * u if abs(u) <= 1 else abs(u) - 0.5
            inner += abs(tau - (1.0 if u < 0 else 0.0)) * huber
        total += inner / len(target)
    return total


@given(st.lists(st.floats(-4, 4), min_size=3, max_size=3), st.lists(st.floats(-4, 4), min_size=2, max_size=2))
def test_the_quantile_loss_is_the_papers(chosen: list[float], reached: list[float]) -> None:
    quantiles = torch.tensor([[[0.0] * 3, chosen]], dtype=torch.float64)
    got = quantile_loss(quantiles, transitions(1.0, 0.5, action=1), torch.tensor([reached], dtype=torch.float64))
    assert got.total.item() == pytest.approx(quantile_by_loop(chosen, [1 + 0.5 * x for x in reached]))


def test_quantiles_settle_at_the_quantiles_of_the_returns() -> None:
    draw = torch.Generator().manual_seed(0)
    returns = torch.randn(1, 4000, generator=draw)
    quantiles = torch.zeros(1, 1, 5, requires_grad=True)
    optimizer = torch.optim.Adam([quantiles], 0.05)
    batch = Transitions(torch.tensor([0]), torch.zeros(1), torch.ones(1), torch.ones(1))
    for _ in range(300):
        optimizer.zero_grad()
        quantile_loss(quantiles, batch, returns, delta=0.01).total.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    middle: Tensor = torch.tensor([0.1, 0.3, 0.5, 0.7, 0.9])
    torch.testing.assert_close(quantiles.detach()[0, 0], returns[0].quantile(middle), atol=0.05, rtol=0)
