"""Networks that bring observations or returns to one scale, and learn that scale from the rows they are trained on."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn


@runtime_checkable
class Normalises(Protocol):
    """What a network has as its attribute ``normaliser``; its state is part of the weights, and travels with them."""

    def moments(self, observation: Sequence[Tensor], weight: Tensor) -> Tensor:
        """Returns sums over the rows that count, which may be added up over workers.

        Args:
          observation: By leaves, each [N, …].
          weight: 0 for rows that do not count, [N].
        """

    def observe(self, moments: Tensor) -> None:
        """Takes the sums of one batch in."""


@torch.no_grad()
def observe(
    module: nn.Module, observation: Sequence[Tensor], weight: Tensor, reduce_sum: Callable[[Tensor], Tensor]
) -> None:
    """Shows a batch to a network's normaliser; does nothing where it has none.

    Args:
      module: The network, or what averages its gradients over workers.
      observation: By leaves, each [N, …].
      weight: 0 for rows that do not count, [N].
      reduce_sum: Adds up over the workers.
    """
    normaliser = getattr(unwrapped(module), "normaliser", None)
    if isinstance(normaliser, Normalises):
        normaliser.observe(reduce_sum(normaliser.moments(observation, weight)))


@runtime_checkable
class ScalesValue(Protocol):
    """What a network has as its attribute ``value`` where PopArt learns it; its state is part of the weights."""

    @property
    def deviation(self) -> Tensor:
        """Deviation of the returns, as far as is known, on the CPU, [heads]."""

    def moments(self, target: Tensor, weight: Tensor) -> Tensor:
        """Returns sums over the rows that count, which may be added up over workers.

        Args:
          target: Value targets at the scale of the rewards, [N], or [N, heads].
          weight: 0 for rows that do not count, [N].
        """

    def observe(self, batch: Tensor) -> None:
        """Takes the sums of one batch in; what the network answers stays as it was."""


def value_scale(module: nn.Module) -> ScalesValue | None:
    """Returns what scales a network's value; None where it is learned at the scale of the rewards."""
    value = getattr(unwrapped(module), "value", None)
    return value if isinstance(value, ScalesValue) else None


def unwrapped(module: nn.Module) -> nn.Module:
    """Returns the network itself, which has a spec, without what averages its gradients over workers or casts."""
    inner = module
    while not hasattr(inner, "spec") and isinstance(wrapped := getattr(inner, "module", None), nn.Module):
        inner = wrapped
    return inner if hasattr(inner, "spec") else module
