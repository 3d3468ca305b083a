"""Networks that bring their observations to one scale, and learn that scale from the rows they are trained on."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn


@runtime_checkable
class Normalising(Protocol):
    """A network with a normaliser inside: its state is part of the weights, so that it travels with them."""

    def moments(self, observation: list[Tensor], weight: Tensor) -> Tensor:
        """Returns sums over the rows that count, which may be added up over workers.

        Args:
          observation: By leaves, each [N, …].
          weight: 0 for rows that do not count, [N].
        """

    def observe(self, moments: Tensor) -> None:
        """Takes the sums of one batch in."""


@torch.no_grad()
def observe(
    module: nn.Module, observation: list[Tensor], weight: Tensor, reduce_sum: Callable[[Tensor], Tensor]
) -> None:
    """Shows a batch to a network's normaliser; does nothing where it has none.

    Args:
      module: The network, or what averages its gradients over workers.
      observation: By leaves, each [N, …].
      weight: 0 for rows that do not count, [N].
      reduce_sum: Adds up over the workers.
    """
    inner = unwrapped(module)
    if isinstance(inner, Normalising):
        inner.observe(reduce_sum(inner.moments(observation, weight)))


def unwrapped(module: nn.Module) -> nn.Module:
    """Returns the network itself, without what averages its gradients over workers."""
    inner = getattr(module, "module", module)
    return inner if isinstance(inner, nn.Module) else module
