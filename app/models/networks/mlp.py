"""Layers that see everything."""

import math
from collections.abc import Sequence
from typing import Final, Literal

from torch import Tensor, nn

from app.models.networks.initial import orthogonal

Activation = Literal["tanh", "relu", "silu"]

ACTIVATIONS: Final[dict[Activation, type[nn.Module]]] = {"tanh": nn.Tanh, "relu": nn.ReLU, "silu": nn.SiLU}


class Mlp(nn.Module):
    """Maps numbers, [B, inputs], to features, [B, outputs], by layers with an activation behind each."""

    def __init__(
        self, inputs: int, hidden: Sequence[int], activation: Activation = "tanh", *, is_orthogonal: bool = True
    ) -> None:
        """Makes the layers.

        Args:
          inputs: Numbers of a row.
          hidden: Units of each layer; without one the rows pass as they are.
          activation: What stands behind each layer.
          is_orthogonal: Whether the first weights are orthogonal with gain √2, else those of torch.
        """
        super().__init__()
        sizes = [inputs, *hidden]
        layers: list[nn.Module] = []
        for before, after in zip(sizes, hidden, strict=False):
            layer = nn.Linear(before, after)
            layers += [orthogonal(layer, math.sqrt(2)) if is_orthogonal else layer, ACTIVATIONS[activation]()]
        self.layers = nn.Sequential(*layers)
        self.outputs = sizes[-1]

    def forward(self, rows: Tensor) -> Tensor:
        """Returns features, [B, outputs]."""
        features: Tensor = self.layers(rows)
        return features
