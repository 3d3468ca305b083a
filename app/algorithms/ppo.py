"""Proximal policy optimization, clipped (Schulman et al., 2017), https://arxiv.org/abs/1707.06347.

With the dual clip of Ye et al. (2020), https://arxiv.org/abs/1912.09729, and a clipped value where they are wanted.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from app.algorithms.worth import Worth, check_rows, over_heads


class PpoLoss(NamedTuple):
    """Sums over the rows that count; divide by the sum of the weights."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    clip_fraction: Tensor
    """Rows whose ratio left the clip range."""
    kl: Tensor
    """Estimate of KL(behaviour ‖ current) by mean(ratio - 1 - log ratio), http://joschu.net/blog/kl-approx.html."""


@dataclass(frozen=True, slots=True)
class ClippedPolicy:
    """The clipped surrogate, the squared error of the value, and an entropy bonus."""

    clip_epsilon: float
    """Largest change of an action's probability that is still rewarded, as a ratio minus 1."""
    value_coef: float
    """Weight of the squared error of the value."""
    entropy_coef: float
    """Weight of the entropy bonus."""
    dual_clip: float | None = None
    """Largest loss of a bad action, as a multiple of its advantage, however likely it became; None bounds nothing."""
    value_clip: float | None = None
    """Largest change of a value in one update that lowers its loss; None bounds nothing."""

    def __call__(self, log_prob: Tensor, entropy: Tensor, value: Tensor, worth: Worth) -> PpoLoss:
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
        log_ratio = log_prob - worth.behaviour_log_prob
        ratio = log_ratio.exp()
        clipped_ratio = ratio.clamp(1 - self.clip_epsilon, 1 + self.clip_epsilon)
        weight = worth.weight
        gain = torch.minimum(ratio * worth.advantage, clipped_ratio * worth.advantage)
        if self.dual_clip is not None:
            floored = torch.maximum(gain, self.dual_clip * worth.advantage)
            gain = torch.where(worth.advantage < 0, floored, gain)
        policy_loss = -(weight * gain).sum()
        value_loss = (weight * self._squared_errors(value, worth)).sum()
        entropy_sum = (weight * entropy).sum()
        with torch.no_grad():
            clip_fraction = (weight * ((ratio - 1).abs() > self.clip_epsilon)).sum()
            kl = (weight * (ratio - 1 - log_ratio)).sum()
        total = policy_loss + self.value_coef * value_loss - self.entropy_coef * entropy_sum
        return PpoLoss(total, policy_loss, value_loss, entropy_sum, clip_fraction, kl)

    def _squared_errors(self, value: Tensor, worth: Worth) -> Tensor:
        """Returns the squared errors of the values, the larger of the clipped and the free one, [B]."""
        squares = (value - worth.target_value).square()
        if self.value_clip is None:
            return over_heads(squares)
        if worth.value_before is None:
            raise ValueError("a clipped value needs the values before the update, got none")
        near = worth.value_before + (value - worth.value_before).clamp(-self.value_clip, self.value_clip)
        return over_heads(torch.maximum(squares, (near - worth.target_value).square()))
