"""The actor-critic loss of A2C/A3C (Mnih et al., 2016), https://arxiv.org/abs/1602.01783, and of IMPALA.

They differ in where advantages and targets come from: ``gae`` or ``n_step_returns`` for A2C, ``vtrace`` for IMPALA.
"""

from typing import NamedTuple

from torch import Tensor


class ActorCriticBatch(NamedTuple):
    """What was done and what it was worth, all [B]; nothing is differentiated through them."""

    advantage: Tensor
    """Advantage of the action taken; importance-weighted where another policy acted."""
    target_value: Tensor
    """Return that the value should predict."""
    weight: Tensor
    """1 for rows that count, 0 for masked ones."""


class ActorCriticLoss(NamedTuple):
    """Sums over the rows that count; divide by the sum of the weights."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor


def actor_critic_loss(
    log_prob: Tensor, entropy: Tensor, value: Tensor, batch: ActorCriticBatch, value_coef: float, entropy_coef: float
) -> ActorCriticLoss:
    """Returns the loss terms summed over the rows that count.

    Args:
      log_prob: Log-probability of the taken actions under the current policy, [B].
      entropy: Entropy of the current policy, [B].
      value: Current values, [B].
      batch: What was done, [B].
      value_coef: Weight of half the squared error of the value.
      entropy_coef: Weight of the entropy bonus.

    Raises:
      ValueError: The shapes differ.
    """
    shapes = {tuple(x.shape) for x in (log_prob, entropy, value, *batch)}
    if len(shapes) != 1 or log_prob.ndim != 1:
        raise ValueError(f"actor_critic_loss needs one shape [B], got {sorted(shapes)}")
    policy_loss = -(batch.weight * log_prob * batch.advantage.detach()).sum()
    value_loss = 0.5 * (batch.weight * (value - batch.target_value.detach()).square()).sum()
    entropy_sum = (batch.weight * entropy).sum()
    total = policy_loss + value_coef * value_loss - entropy_coef * entropy_sum
    return ActorCriticLoss(total, policy_loss, value_loss, entropy_sum)
