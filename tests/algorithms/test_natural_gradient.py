"""Products with the Fisher matrix against the matrix itself, and conjugate gradients against a solver."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from app.algorithms.natural_gradient import conjugate_gradients, fisher_product, flat_gradient
from app.models.distributions.action import kl
from app.models.distributions.categorical import Categorical
from app.models.distributions.gaussian import Gaussian
from app.nested import Structure

ROWS, FEATURES = 5, 3
MASK = torch.tensor([[1, 1, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1], [1, 1, 0]], dtype=torch.bool)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def identity(x: Tensor) -> Tensor:
    return x


def matrix(product: "object", size: int) -> Tensor:
    """Returns a matrix by its products with the unit vectors."""
    assert callable(product)
    return torch.stack([product(unit) for unit in torch.eye(size, dtype=torch.float64)], 1)


def chances(logits: Tensor, mask: Tensor) -> Tensor:
    return torch.where(mask, logits.exp(), 0.0) / torch.where(mask, logits.exp(), 0.0).sum(-1, keepdim=True)


def explicit(features: Tensor, logits: Tensor, mask: Tensor) -> Tensor:
    """Returns the Fisher matrix of a linear softmax: the mean over rows and actions of the scores' outer products."""
    total = torch.zeros(features.shape[1] * 3, features.shape[1] * 3, dtype=torch.float64)
    for x, p in zip(features, chances(logits, mask), strict=True):
        for action in range(3):
            score = torch.outer(torch.eye(3, dtype=torch.float64)[action] - p, x).reshape(-1)
            total += p[action] * torch.outer(score, score) / len(features)
    return total


def test_a_product_is_that_with_the_explicit_fisher_matrix_of_choices_with_masks() -> None:
    features, weight = drawn(ROWS, FEATURES), drawn(3, FEATURES, seed=1).requires_grad_()
    logits = features @ weight.T
    divergence = kl(Structure(Categorical(3)), [logits.detach()], [logits], [MASK]).mean()
    found = matrix(fisher_product(divergence, [weight], identity, 0.0), weight.numel())
    torch.testing.assert_close(found, explicit(features, logits.detach(), MASK), rtol=1e-10, atol=1e-12)


def test_a_product_is_that_with_the_explicit_fisher_matrix_of_several_leaves() -> None:
    """A choice and a normal number: 1/σ² for the mean, 2 for the logarithm of σ, and nothing between the leaves."""
    features = drawn(ROWS, FEATURES)
    weight, mean = drawn(3, FEATURES, seed=1).requires_grad_(), drawn(1, FEATURES, seed=2).requires_grad_()
    log_std = torch.tensor([-0.5], dtype=torch.float64, requires_grad=True)
    logits = features @ weight.T
    inputs = torch.cat([features @ mean.T, log_std.expand(ROWS, 1)], 1)
    actions: Structure[Categorical | Gaussian] = Structure({"a": Categorical(3), "b": Gaussian((1,))})
    divergence = kl(actions, [logits.detach(), inputs.detach()], [logits, inputs], [MASK, None]).mean()
    found = matrix(fisher_product(divergence, [weight, mean, log_std], identity, 0.0), 13)
    wanted = torch.zeros(13, 13, dtype=torch.float64)
    wanted[:9, :9] = explicit(features, logits.detach(), MASK)
    wanted[9:12, 9:12] = features.T @ features / ROWS * math.exp(-2 * -0.5)
    wanted[12, 12] = 2.0
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)


def test_damping_stands_on_the_diagonal_and_shares_of_workers_add_up() -> None:
    features, weight = drawn(ROWS, FEATURES), drawn(3, FEATURES, seed=1).requires_grad_()
    logits = features @ weight.T
    half = kl(Structure(Categorical(3)), [logits.detach()], [logits], [MASK]).mean() / 2
    found = matrix(fisher_product(half, [weight], lambda x: 2 * x, 0.3), weight.numel())
    wanted = explicit(features, logits.detach(), MASK) + 0.3 * torch.eye(9, dtype=torch.float64)
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)


def test_a_gradient_is_0_where_nothing_depends_on_a_parameter() -> None:
    x, y = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
    assert flat_gradient(3 * x.sum(), [x, y]).tolist() == [3.0, 3.0, 0.0]


@given(st.integers(1, 8), st.integers(0, 2**32))
def test_conjugate_gradients_find_what_a_solver_finds(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    matrix_, right = root @ root.T + 0.5 * np.eye(size), rng.normal(size=size)
    known = torch.from_numpy(matrix_)
    found = conjugate_gradients(lambda x: known @ x, torch.from_numpy(right), 3 * size)
    np.testing.assert_allclose(found.numpy(), np.linalg.solve(matrix_, right), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("steps", [1, 2])
def test_fewer_steps_are_the_best_in_fewer_directions(steps: int) -> None:
    diagonal = torch.tensor([1.0, 4.0], dtype=torch.float64)
    right = torch.tensor([1.0, 1.0], dtype=torch.float64)
    calls: list[Tensor] = []

    def product(x: Tensor) -> Tensor:
        calls.append(x)
        return diagonal * x

    found = conjugate_gradients(product, right, steps)
    wanted = [0.4, 0.4] if steps == 1 else [1.0, 0.25]  # One step: 2 / 5 along the right side.
    assert found.tolist() == pytest.approx(wanted)
    assert len(calls) == steps


def test_nothing_is_the_solution_of_nothing() -> None:
    nothing = torch.zeros(3, dtype=torch.float64)
    assert torch.equal(conjugate_gradients(lambda x: x, nothing, 5), nothing)
