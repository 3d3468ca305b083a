"""Proximal policy optimization, clipped (Schulman et al., 2017), https://arxiv.org/abs/1707.06347."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class PpoCoefficients:
    """Weights of the loss terms."""

    clip_epsilon: float
    value: float
    entropy: float


class PpoBatch(NamedTuple):
    """What was done and what it was worth, all [B]."""

    behaviour_log_prob: Tensor
    """Log-probability of the action under the policy that took it."""
    advantage: Tensor
    """Normalised advantage."""
    target_value: Tensor
    """Return that the value should predict."""
    weight: Tensor
    """1 for rows that count, 0 for masked ones."""


class PpoLoss(NamedTuple):
    """Sums over the rows that count; divide by the sum of the weights."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    clipped: Tensor
    """Rows whose ratio left the clip range."""
    kl: Tensor
    """Estimate of KL(behaviour ‖ current) by mean(ratio - 1 - log ratio), http://joschu.net/blog/kl-approx.html."""


def ppo_loss(log_prob: Tensor, entropy: Tensor, value: Tensor, batch: PpoBatch, c: PpoCoefficients) -> PpoLoss:
    """Returns the loss terms summed over the rows that count.

    Args:
      log_prob: Log-probability of the taken actions under the current policy, [B].
      entropy: Entropy of the current policy, [B].
      value: Current values, [B].
      batch: What was done, [B].
      c: Weights of the terms.

    Raises:
      ValueError: The shapes differ.
    """
    shapes = {tuple(x.shape) for x in (log_prob, entropy, value, *batch)}
    if len(shapes) != 1 or log_prob.ndim != 1:
        raise ValueError(f"ppo_loss needs one shape [B], got {sorted(shapes)}")
    log_ratio = log_prob - batch.behaviour_log_prob
    ratio = log_ratio.exp()
    clipped_ratio = ratio.clamp(1 - c.clip_epsilon, 1 + c.clip_epsilon)
    weight = batch.weight
    policy_loss = -(weight * torch.minimum(ratio * batch.advantage, clipped_ratio * batch.advantage)).sum()
    value_loss = (weight * (value - batch.target_value).square()).sum()
    entropy_sum = (weight * entropy).sum()
    with torch.no_grad():
        clipped = (weight * ((ratio - 1).abs() > c.clip_epsilon)).sum()
        kl = (weight * (ratio - 1 - log_ratio)).sum()
    total = policy_loss + c.value * value_loss - c.entropy * entropy_sum
    return PpoLoss(total, policy_loss, value_loss, entropy_sum, clipped, kl)
