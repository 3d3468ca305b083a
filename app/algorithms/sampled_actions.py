"""Actions of real numbers that are drawn, leaf by leaf."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from app.models.distributions.squashed_gaussian import SquashedGaussian
from app.models.spec import ModelSpec


class SampledActions(NamedTuple):
    """Actions at all leaves."""

    actions: list[Tensor]
    """By leaves, each [B, …]."""
    log_prob: Tensor
    """Logarithm of the density that they were drawn from, [B]."""


def numbers(spec: ModelSpec) -> list[SquashedGaussian]:
    """Returns the leaves of an action that are real numbers with bounds."""
    return [leaf for leaf in spec.actions.leaves if isinstance(leaf, SquashedGaussian)]


def sampled_actions(spec: ModelSpec, dist_inputs: list[Tensor], draw: torch.Generator) -> SampledActions:
    """Returns actions of a policy, with a gradient through its inputs.

    Args:
      spec: Shapes of the policy.
      dist_inputs: Inputs of the action's distribution by leaves, each [B, …].
      draw: Draws them.
    """
    parts = []
    for leaf, inputs in zip(numbers(spec), dist_inputs, strict=True):
        normal = torch.randn((len(inputs), leaf.draws), generator=draw).to(inputs)
        parts.append(leaf.sample(inputs, normal))
    total = parts[0].log_prob
    for part in parts[1:]:
        total = total + part.log_prob
    return SampledActions([part.action for part in parts], total)


def even_actions(spec: ModelSpec, like: Tensor, draw: torch.Generator) -> SampledActions:
    """Returns actions that are drawn evenly within their bounds, as many as a tensor, [B, …], has rows."""
    rows, actions, log_density = len(like), [], 0.0
    for leaf in numbers(spec):
        low, high = leaf.bounds(like)
        share = torch.rand((rows, *leaf.shape), generator=draw).to(like)
        actions.append(low + (high - low) * share)
        log_density -= leaf.log_half_range + leaf.draws * math.log(2)
    return SampledActions(actions, like.new_full((rows,), log_density))


def modes(spec: ModelSpec, dist_inputs: list[Tensor]) -> list[Tensor]:
    """Returns the actions of the means, each [B, …], with a gradient."""
    nothing = [
        inputs.new_zeros((len(inputs), leaf.draws)) for leaf, inputs in zip(numbers(spec), dist_inputs, strict=True)
    ]
    parts = zip(numbers(spec), dist_inputs, nothing, strict=True)
    return [leaf.sample(inputs, normal).action for leaf, inputs, normal in parts]
