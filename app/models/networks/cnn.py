"""Convolutions over images (after Mnih et al., 2015), https://doi.org/10.1038/nature14236."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn

from app.models.networks.initial import orthogonal

BYTE_MAX: Final = 255.0


class Filters(NamedTuple):
    """One layer of convolutions."""

    channels: int
    size: int
    """Edge of the square that one sees."""
    stride: int


NATURE: Final = (Filters(32, 8, 4), Filters(64, 4, 2), Filters(64, 3, 1))
"""Those of the paper, for images of 36 × 36 and more."""


class Cnn(nn.Module):
    """Maps images, [B, channels, height, width], to features, [B, outputs].

    Images of uint8 are scaled to [0, 1] here, so that they travel as bytes; others are taken as they are.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        filters: Sequence[Filters] = NATURE,
        outputs: int = 512,
        *,
        is_orthogonal: bool = True,
    ) -> None:
        """Makes the layers.

        Args:
          shape: Channels, height and width of an image.
          filters: The convolutions, one behind another.
          outputs: Units of the layer behind them.
          is_orthogonal: Whether the first weights are orthogonal with gain √2, else those of torch.

        Raises:
          ValueError: The image is too small for the filters.
        """
        super().__init__()
        channels, *edges = shape
        sizes = [channels, *(layer.channels for layer in filters)]
        layers: list[nn.Module] = []
        for (before, after), (_, size, stride) in zip(pairwise(sizes), filters, strict=True):
            layer = nn.Conv2d(before, after, size, stride)
            layers += [orthogonal(layer, math.sqrt(2)) if is_orthogonal else layer, nn.ReLU()]
            edges = [(edge - size) // stride + 1 for edge in edges]
            if min(edges) < 1:
                raise ValueError(f"an image of {shape} is too small for the filters {list(map(tuple, filters))}")
        dense = nn.Linear(sizes[-1] * math.prod(edges), outputs)
        dense = orthogonal(dense, math.sqrt(2)) if is_orthogonal else dense
        self.layers = nn.Sequential(*layers, nn.Flatten(), dense, nn.ReLU())
        self.outputs = outputs

    def forward(self, images: Tensor) -> Tensor:
        """Returns features, [B, outputs]."""
        scale = BYTE_MAX if images.dtype == torch.uint8 else 1.0
        features: Tensor = self.layers(images.float() / scale)
        return features
