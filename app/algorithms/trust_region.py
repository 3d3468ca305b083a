"""One step of a policy within a trust region: TRPO (Schulman et al., 2015), https://arxiv.org/abs/1502.05477."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from app.algorithms.descent import ReduceSum
from app.algorithms.natural_gradient import conjugate_gradients, fisher_product, flat_gradient
from app.errors import NonFiniteLossError


@dataclass(frozen=True, slots=True)
class TrustRegion:
    """How far a policy may go, and how the step is found."""

    max_kl: float
    """Largest mean of KL(policy before ‖ policy), in nats."""
    cg_steps: int
    """Products with the Fisher matrix, by which its inverse is approximated."""
    damping: float
    """What is added to its diagonal."""
    line_search_steps: int
    """Lengths that are tried before the policy stays as it is."""
    shrink: float
    """From one length to the next, in (0, 1)."""


class Objective(Protocol):
    """What a policy is to reach, and how far it is from the one before; this worker's shares of both means."""

    def gain(self) -> Tensor:
        """Returns what is maximised, with a gradient."""

    def divergence(self) -> Tensor:
        """Returns KL(policy before ‖ policy), with a gradient."""


class Step(NamedTuple):
    """What came of one step, over all workers."""

    gain: float
    """How much more is reached than before; 0 where the policy stayed as it was."""
    kl: float
    """Mean divergence from the policy before."""
    tried: int
    """Lengths that were tried."""
    gradient_norm: float
    """Of the plain gradient."""


def trust_region_step(
    parameters: Sequence[nn.Parameter], objective: Objective, settings: TrustRegion, reduce_sum: ReduceSum
) -> Step:
    """Moves a policy by the longest step tried that reaches more and stays within the trust region.

    The direction is the natural gradient; the first length is the one that a quadratic model of the divergence allows.

    Args:
      parameters: Those of the policy, changed in place, the same way on all workers.
      objective: What is to be reached.
      settings: How.
      reduce_sum: Adds up over the workers.

    Raises:
      NonFiniteLossError: Gradient or direction is NaN or infinite; the policy stays as it was.
    """
    gain = objective.gain()
    before = _total(gain, reduce_sum)
    gradient = reduce_sum(flat_gradient(gain, parameters).double().cpu())
    norm = float(gradient.norm())
    if not math.isfinite(before + norm):
        raise NonFiniteLossError(
            f"TRPO's surrogate is {before:g} and its gradient norm {norm:g}; look for rewards or "
            "observations without bound"
        )
    product = fisher_product(objective.divergence(), parameters, reduce_sum, settings.damping)
    direction = conjugate_gradients(product, gradient, settings.cg_steps)
    curvature = float(direction @ product(direction))
    if not math.isfinite(curvature):
        raise NonFiniteLossError(f"TRPO's direction has the curvature {curvature:g}; raise damping")
    if curvature <= 0:  # Nothing to be gained.
        return Step(0.0, 0.0, 0, norm)
    return _searched(
        parameters,
        objective,
        math.sqrt(2 * settings.max_kl / curvature) * direction,
        settings,
        reduce_sum,
        Step(before, 0.0, 0, norm),
    )


def _searched(
    parameters: Sequence[nn.Parameter], objective: Objective, step: Tensor, settings: TrustRegion,
    reduce_sum: ReduceSum, begun: Step,
) -> Step:  # fmt: skip
    """Tries shorter and shorter steps."""
    start = nn.utils.parameters_to_vector(parameters).detach().clone()
    for tried in range(1, settings.line_search_steps + 1):
        _put(parameters, start + (settings.shrink ** (tried - 1) * step).to(start))
        with torch.no_grad():
            gained = _total(objective.gain(), reduce_sum) - begun.gain
            kl = _total(objective.divergence(), reduce_sum)
        if gained > 0 and kl <= settings.max_kl:  # False for NaN.
            return Step(gained, kl, tried, begun.gradient_norm)
    _put(parameters, start)
    return Step(0.0, 0.0, settings.line_search_steps, begun.gradient_norm)


@torch.no_grad()
def _put(parameters: Sequence[nn.Parameter], vector: Tensor) -> None:
    begin = 0
    for one in parameters:
        one.copy_(vector[begin : begin + one.numel()].view_as(one))
        begin += one.numel()


def _total(share: Tensor, reduce_sum: ReduceSum) -> float:
    return float(reduce_sum(share.detach().double().cpu()))
