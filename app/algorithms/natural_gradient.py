"""Steps along the natural gradient, without the Fisher matrix itself.

Pearlmutter (1994), https://doi.org/10.1162/neco.1994.6.1.147: products of a matrix of second derivatives with vectors.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from app.algorithms.descent import ReduceSum

Product = Callable[[Tensor], Tensor]
"""Product of a symmetric positive matrix with a vector, float64 [n]."""

RESIDUAL_MIN = 1e-20
"""Square of a residual, as a share of that of the right side, at which a solution is as good as float64 gets."""


def flat_gradient(value: Tensor, parameters: Sequence[Tensor], *, keep: bool = False) -> Tensor:
    """Returns the gradient of a scalar as one vector, [n]; 0 where it does not depend on a parameter.

    Args:
      value: The scalar.
      parameters: By which it is differentiated.
      keep: Whether it can be differentiated once more.
    """
    found = torch.autograd.grad(value, parameters, create_graph=keep, retain_graph=True, materialize_grads=True)
    return torch.cat([x.reshape(-1) for x in found])


def fisher_product(divergence: Tensor, parameters: Sequence[Tensor], reduce_sum: ReduceSum, damping: float) -> Product:
    """Returns the product with the Fisher matrix, F + damping · I.

    F is the matrix of second derivatives of KL(policy before ‖ policy) where both are the same.

    Args:
      divergence: This worker's share of the mean divergence; its graph is kept.
      parameters: Those of the policy.
      reduce_sum: Adds up over the workers.
      damping: Keeps directions that the policy hardly depends on from being taken far.
    """
    gradient = flat_gradient(divergence, parameters, keep=True)

    def product(vector: Tensor) -> Tensor:
        along = gradient @ vector.to(gradient)
        return reduce_sum(flat_gradient(along, parameters).double().cpu()) + damping * vector

    return product


def conjugate_gradients(product: Product, right: Tensor, steps: int) -> Tensor:
    """Returns an approximate solution x of A x = b by conjugate gradients (Hestenes and Stiefel, 1952), float64 [n].

    Args:
      product: Product with A.
      right: b, float64 [n].
      steps: Products at most; n of them solve it but for rounding.
    """
    found, residual = torch.zeros_like(right), right.clone()
    direction, square = right.clone(), right @ right
    smallest = RESIDUAL_MIN * square
    for _ in range(steps):
        if not square > smallest:  # Solved, or nothing to solve.
            break
        along = product(direction)
        length = square / (direction @ along)
        found = found + length * direction
        residual = residual - length * along
        square, before = residual @ residual, square
        direction = residual + square / before * direction
    return found
