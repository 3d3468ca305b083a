"""Soft actor-critic (Haarnoja et al., 2018), https://arxiv.org/abs/1812.05905.

For choices after Christodoulou (2019), https://arxiv.org/abs/1910.07207.
"""

from typing import NamedTuple

from torch import Tensor


class DiscretePolicy(NamedTuple):
    """A policy over choices."""

    probs: Tensor
    """[B, A]; exactly 0 where a choice is not allowed."""
    log_probs: Tensor
    """[B, A]; any finite number where the probability is 0."""


def soft_target(reward: Tensor, discount: Tensor, soft_value_t: Tensor) -> Tensor:
    """Returns the critics' targets, [B].

    Args:
      reward: Rewards, [B].
      discount: γ · (1 - terminated), [B].
      soft_value_t: Soft value of the state reached, [B], from ``soft_value`` or ``soft_value_discrete``.
    """
    return (reward + discount * soft_value_t).detach()


def soft_value(q: Tensor, log_prob: Tensor, temperature: Tensor) -> Tensor:
    """Returns the soft values of sampled actions, [B]: the smallest critic minus temperature times log-probability.

    Args:
      q: Values of the sampled actions by each critic, [critics, B].
      log_prob: Their log-probability, [B].
      temperature: Weight of the entropy, a scalar.
    """
    return q.min(0).values - temperature * log_prob


def soft_value_discrete(q: Tensor, policy: DiscretePolicy, temperature: Tensor) -> Tensor:
    """Returns the soft values in expectation over the choices, [B].

    Args:
      q: Values of each choice by each critic, [critics, B, A].
      policy: Of the same states.
      temperature: Weight of the entropy, a scalar.
    """
    return (policy.probs * (q.min(0).values - temperature * policy.log_probs)).sum(-1)


def policy_loss(q: Tensor, log_prob: Tensor, temperature: Tensor, weight: Tensor) -> Tensor:
    """Returns the policy's loss summed over the rows that count; actions are sampled with a gradient.

    Args:
      q: Values of the sampled actions by each critic, [critics, B].
      log_prob: Their log-probability, [B].
      temperature: Weight of the entropy, a scalar.
      weight: 1 for rows that count, [B].
    """
    return -(weight * soft_value(q, log_prob, temperature.detach())).sum()


def policy_loss_discrete(q: Tensor, policy: DiscretePolicy, temperature: Tensor, weight: Tensor) -> Tensor:
    """Returns the policy's loss summed over the rows that count, [] for values [critics, B, A]."""
    return -(weight * soft_value_discrete(q.detach(), policy, temperature.detach())).sum()


def temperature_loss(
    log_temperature: Tensor, entropy: Tensor, target_entropy: Tensor | float, weight: Tensor
) -> Tensor:
    """Returns the loss that raises the temperature where the entropy is below its target, summed over rows that count.

    Args:
      log_temperature: Logarithm of the temperature, a scalar.
      entropy: Entropy of the policy, or minus the log-probability of a sampled action, [B].
      target_entropy: Entropy to keep.
      weight: 1 for rows that count, [B].
    """
    return (weight * log_temperature * (entropy - target_entropy).detach()).sum()


def critic_loss(q: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """Returns half the squared errors of all critics, summed over the rows that count.

    Args:
      q: Values of the actions taken by each critic, [critics, B].
      target: Targets, [B].
      weight: 1 for rows that count, or importance weights, [B].
    """
    return 0.5 * (weight * (q - target.detach()).square()).sum()
