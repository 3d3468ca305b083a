"""Learning from recorded games.

Behaviour cloning; MARWIL (Wang et al., 2018); CQL (Kumar et al., 2020), https://arxiv.org/abs/2006.04779; IQL
(Kostrikov et al., 2022), https://arxiv.org/abs/2110.06169.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from app.algorithms.actor_critic import ActorCriticLoss, with_critic
from app.algorithms.worth import Worth, check_rows


@dataclass(frozen=True, slots=True)
class Cloning:
    """The likelihood of recorded actions: of all alike (behaviour cloning), or of better ones more (MARWIL)."""

    advantage_scale: float
    """How sharply better actions are preferred: rows weigh exp(advantage · scale); 0 is behaviour cloning."""
    largest_weight: float
    """Largest weight of a row."""
    value_coef: float
    """Weight of half the squared error of the value."""
    entropy_coef: float
    """Weight of the entropy bonus."""

    def __call__(self, log_prob: Tensor, entropy: Tensor, value: Tensor, worth: Worth) -> ActorCriticLoss:
        """Returns the loss terms summed over the rows that count.

        Args:
          log_prob: Log-probability of the recorded actions under the current policy, [B].
          entropy: Entropy of the current policy, [B].
          value: Current values, [B], or [B, heads] of named rewards.
          worth: What was done, [B].

        Raises:
          ValueError: The shapes differ.
        """
        check_rows(log_prob, entropy, value, worth)
        better = advantage_weights(worth.advantage, self.advantage_scale, self.largest_weight)
        policy_loss = behaviour_cloning_loss(log_prob, worth.weight * better)
        return with_critic(policy_loss, entropy, value, worth, (self.value_coef, self.entropy_coef))


def behaviour_cloning_loss(log_prob: Tensor, weight: Tensor) -> Tensor:
    """Returns the negative log-likelihood of the recorded actions, [B], summed over the rows that count."""
    return -(weight * log_prob).sum()


def advantage_weights(advantage: Tensor, scale: float, largest: float) -> Tensor:
    """Returns exp(advantage · scale), at most ``largest``, [B], without gradient.

    Args:
      advantage: Advantages of the recorded actions, [B]; for MARWIL divided by their running root mean square.
      scale: How sharply better actions are preferred; 0 is behaviour cloning.
      largest: Largest weight.
    """
    bound = torch.tensor(largest, dtype=advantage.dtype, device=advantage.device)
    return (advantage.detach() * scale).clamp(max=bound.log()).exp()


def conservative_penalty(q: Tensor, action: Tensor, weight: Tensor, mask: Tensor | None = None) -> Tensor:
    """Returns how much the values of all choices exceed those of the recorded ones, summed over the rows that count.

    Args:
      q: Action values, [B, A].
      action: Recorded choices, int64 [B].
      weight: 1 for rows that count, [B].
      mask: False where a choice was not allowed, bool [B, A]; None allows all.
    """
    allowed = q if mask is None else q.masked_fill(~mask, torch.finfo(q.dtype).min)
    return (weight * (allowed.logsumexp(-1) - q.gather(1, action[:, None]).squeeze(1))).sum()


def soft_maximum(q: Tensor, log_density: Tensor) -> Tensor:
    """Returns an estimate of log ∫ exp(Q(s, a)) da out of sampled actions, [critics, B]; CQL(H), appendix F.

    Args:
      q: Values of K sampled actions, [critics, K, B].
      log_density: Logarithm of the density that each was drawn from, [K, B].
    """
    return (q - log_density).logsumexp(1) - math.log(q.shape[1])


def expectile_loss(error: Tensor, expectile: float, weight: Tensor) -> Tensor:
    """Returns the asymmetric squared error of IQL's value, summed over the rows that count.

    Args:
      error: Action value minus state value, [B].
      expectile: Above 0.5 the value leans to the better actions.
      weight: 1 for rows that count, [B].
    """
    side = torch.where(error > 0, expectile, 1 - expectile)
    return (weight * side * error.square()).sum()
