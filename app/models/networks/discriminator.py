"""A network that tells an expert's moves from others."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from app.models.distributions.distribution import Distribution
from app.models.networks.mlp import Activation, Mlp
from app.models.networks.normaliser import Normaliser
from app.models.spec import ModelSpec

BYTE_MAX = 255.0
"""Of images."""


class Discriminator(nn.Module):
    """All numbers of a state and what was done in it, through layers that see everything.

    Its ``normaliser`` brings states to the scale of the expert's; an action of choices is a 1 among zeros.
    """

    def __init__(self, spec: ModelSpec, hidden: Sequence[int], activation: Activation) -> None:
        super().__init__()
        self._spec = spec
        self.normaliser = Normaliser(spec.inputs)
        widths = [math.prod(leaf.shape) for leaf in spec.inputs.leaves]
        widths += [leaf.choices or math.prod(leaf.shape) for leaf in spec.actions.leaves]
        self.trunk = Mlp(sum(widths), hidden, activation)
        self.head = nn.Linear(self.trunk.outputs, 1)

    def forward(self, observation: Any, action: Any) -> Tensor:
        """Returns the log-odds that the expert did so, [M].

        Args:
          observation: Nested like the spec's, each leaf [M, …].
          action: What was done, likewise.
        """
        seen = self.normaliser(self._spec.inputs.flatten(observation))
        done = zip(self._spec.actions.leaves, self._spec.actions.flatten(action), strict=True)
        numbers = [_scaled(leaf) for leaf in seen] + [_numbers(leaf, chosen) for leaf, chosen in done]
        found: Tensor = self.head(self.trunk(torch.cat([x.flatten(1) for x in numbers], -1))).squeeze(-1)
        return found


def build(spec: ModelSpec, hidden: Sequence[int] = (64, 64), activation: Activation = "tanh") -> Discriminator:
    """Returns an untrained discriminator of a policy's moves.

    Args:
      spec: Of the policy.
      hidden: Units of each layer.
      activation: What stands behind each layer.
    """
    return Discriminator(spec, hidden, activation)


def _scaled(leaf: Tensor) -> Tensor:
    found = leaf.float() / BYTE_MAX if leaf.dtype == torch.uint8 else leaf.float()
    return found if found.ndim > 1 else found[:, None]


def _numbers(leaf: Distribution, action: Tensor) -> Tensor:
    if leaf.choices:
        return nn.functional.one_hot(action.long(), leaf.choices).float()
    return action.float() if action.ndim > 1 else action.float()[:, None]
