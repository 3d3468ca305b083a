"""Learning from recorded games.

Behaviour cloning; MARWIL (Wang et al., 2018); CQL (Kumar et al., 2020), https://arxiv.org/abs/2006.04779; IQL
(Kostrikov et al., 2022), https://arxiv.org/abs/2110.06169.
"""

import torch
from torch import Tensor


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


def expectile_loss(error: Tensor, expectile: float, weight: Tensor) -> Tensor:
    """Returns the asymmetric squared error of IQL's value, summed over the rows that count.

    Args:
      error: Action value minus state value, [B].
      expectile: Above 0.5 the value leans to the better actions.
      weight: 1 for rows that count, [B].
    """
    side = torch.where(error > 0, expectile, 1 - expectile)
    return (weight * side * error.square()).sum()
