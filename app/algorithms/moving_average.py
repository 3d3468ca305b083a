"""A moving average of a network's weights (Polyak & Juditsky, 1992)."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn


class MovingAverage:
    """Follows the parameters of a module; on the same devices, and split over workers where they are."""

    def __init__(self, module: nn.Module, decay: float) -> None:
        """Begins with the module's present parameters.

        Args:
          module: Its parameters are followed; buffers are not averaged.
          decay: Share of the old value, in (0, 1).
        """
        self._decay = decay
        self._parameters = dict(module.named_parameters())
        self.averages: dict[str, Tensor] = {name: x.detach().clone() for name, x in self._parameters.items()}
        """By the parameters' names."""

    @torch.no_grad()
    def follow(self) -> None:
        """Moves the averages by one step towards the parameters."""
        for name, average in self.averages.items():
            average.lerp_(self._parameters[name].detach(), 1 - self._decay)

    @torch.no_grad()
    def load(self, averages: Mapping[str, Tensor]) -> None:
        """Takes on saved averages, [same shapes]."""
        for name, average in self.averages.items():
            average.copy_(averages[name])
