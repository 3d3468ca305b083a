"""From features to an action of any structure and a value."""

import math
from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor, nn

from app.models.distributions.gaussian import Gaussian
from app.models.distributions.squashed_gaussian import SquashedGaussian
from app.models.networks.described import ActionLeaf
from app.models.networks.encoders import Encoded
from app.models.networks.initial import orthogonal
from app.models.networks.pointer import PointerHead


class Head(Protocol):
    """Gives the inputs of one leaf's distribution."""

    def __call__(self, seen: Encoded) -> Tensor:
        """Returns inputs, [B, inputs]."""


class ChoiceHead(nn.Module):
    """A logit for each choice."""

    def __init__(self, features: int, choices: int, gain: float) -> None:
        super().__init__()
        self.logits = orthogonal(nn.Linear(features, choices), gain)

    def forward(self, seen: Encoded) -> Tensor:
        """Returns logits, [B, choices]."""
        logits: Tensor = self.logits(seen.features)
        return logits


class EntityHead(nn.Module):
    """A logit for each entity."""

    def __init__(self, features: int, width: int, path: str, gain: float) -> None:
        super().__init__()
        self.pointer = PointerHead(features, width, gain)
        self._path = path

    def forward(self, seen: Encoded) -> Tensor:
        """Returns logits, [B, entities]."""
        logits: Tensor = self.pointer(seen.features, seen.entities[self._path])
        return logits


class NumberHead(nn.Module):
    """Means of real numbers and the logarithms of their deviations, which may be parameters of their own."""

    def __init__(self, features: int, numbers: int, gain: float, log_std: float, *, is_shared: bool) -> None:
        super().__init__()
        self.mean = orthogonal(nn.Linear(features, numbers), gain)
        self.offset = nn.Parameter(torch.full((numbers,), log_std))
        self.log_std = None if is_shared else orthogonal(nn.Linear(features, numbers), gain)

    def forward(self, seen: Encoded) -> Tensor:
        """Returns means and logarithms, [B, 2 n]."""
        mean = self.mean(seen.features)
        log_std = self.offset.expand_as(mean) if self.log_std is None else self.offset + self.log_std(seen.features)
        return torch.cat([mean, log_std], dim=-1)


def make_head(
    leaf: ActionLeaf, features: int, entity_widths: Mapping[str, int], gain: float, log_std: float, *, is_shared: bool
) -> nn.Module:
    """Returns the head of one leaf of an action.

    Args:
      leaf: What it is to do.
      features: Width of the features behind encoder and memory.
      entity_widths: Width of the entities' features, by path.
      gain: Scale of the first weights.
      log_std: First logarithm of a deviation.
      is_shared: Whether deviations are parameters instead of functions of the observation.

    Raises:
      ValueError: It points at what no encoder of kind ``entities`` sees.
    """
    if leaf.points_at is not None:
        if leaf.points_at not in entity_widths:
            raise ValueError(f"points_at is {leaf.points_at!r}; allowed are parts with an encoder of kind entities")
        return EntityHead(features, entity_widths[leaf.points_at], leaf.points_at, gain)
    if isinstance(leaf.distribution, Gaussian | SquashedGaussian):
        numbers = math.prod(leaf.distribution.shape)
        return NumberHead(features, numbers, gain, log_std, is_shared=is_shared)
    return ChoiceHead(features, leaf.distribution.inputs, gain)
