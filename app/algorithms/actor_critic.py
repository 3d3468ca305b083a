"""The actor-critic loss of A2C/A3C (Mnih et al., 2016), https://arxiv.org/abs/1602.01783, and of IMPALA.

They differ in where advantages and targets come from: λ-returns for A2C, V-trace for IMPALA.
"""

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from app.algorithms.worth import Worth, check_rows, over_heads


class ActorCriticLoss(NamedTuple):
    """Sums over the rows that count; divide by the sum of the weights."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor


@dataclass(frozen=True, slots=True)
class ActorCritic:
    """Policy gradient, squared error of the value, and entropy bonus."""

    value_coef: float
    """Weight of half the squared error of the value."""
    entropy_coef: float
    """Weight of the entropy bonus."""

    def __call__(self, log_prob: Tensor, entropy: Tensor, value: Tensor, worth: Worth) -> ActorCriticLoss:
        """Returns the loss terms summed over the rows that count.

        Args:
          log_prob: Log-probability of the taken actions under the current policy, [B].
          entropy: Entropy of the current policy, [B].
          value: Current values, [B], or [B, heads] of named rewards.
          worth: What was done, [B].

        Raises:
          ValueError: The shapes differ.
        """
        check_rows(log_prob, entropy, value, worth)
        policy_loss = -(worth.weight * log_prob * worth.advantage.detach()).sum()
        return with_critic(policy_loss, entropy, value, worth, (self.value_coef, self.entropy_coef))


def with_critic(
    policy_loss: Tensor, entropy: Tensor, value: Tensor, worth: Worth, coefs: tuple[float, float]
) -> ActorCriticLoss:
    """Returns a policy's loss with the squared error of the value and the entropy bonus, summed over rows that count.

    Args:
      policy_loss: Summed over the rows that count, a scalar.
      entropy: Entropy of the current policy, [B].
      value: Current values, [B], or [B, heads] of named rewards.
      worth: What was done, [B].
      coefs: Weights of half the squared error and of the entropy.
    """
    value_coef, entropy_coef = coefs
    squares = over_heads((value - worth.target_value.detach()).square())
    value_loss = 0.5 * (worth.weight * squares).sum()
    entropy_sum = (worth.weight * entropy).sum()
    total = policy_loss + value_coef * value_loss - entropy_coef * entropy_sum
    return ActorCriticLoss(total, policy_loss, value_loss, entropy_sum)
