"""First weights of a layer."""

from typing import TypeVar

from torch import nn

LayerT = TypeVar("LayerT", bound="nn.Linear | nn.Conv2d")


def orthogonal(layer: LayerT, gain: float) -> LayerT:
    """Returns the layer with orthogonal weights and no bias (Saxe et al., 2014), https://arxiv.org/abs/1312.6120.

    Args:
      layer: What is changed.
      gain: Factor of the weights; a small one makes a head nearly indifferent.
    """
    nn.init.orthogonal_(layer.weight, gain)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer
