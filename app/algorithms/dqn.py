"""Deep Q-learning (Mnih et al., 2015) with double targets (van Hasselt et al., 2016), arXiv:1509.06461."""

from typing import NamedTuple

import torch
from torch import Tensor

LOWEST = torch.finfo(torch.float32).min


class Transitions(NamedTuple):
    """n-step transitions, [B]."""

    action: Tensor
    """int64."""
    reward: Tensor
    """Discounted sum of the n rewards."""
    discount: Tensor
    """γ to the n; 0 where the game terminated within the n steps. A truncated one keeps its discount."""
    weight: Tensor
    """Importance weight of a prioritised sample; 0 for rows that do not count."""


class QLoss(NamedTuple):
    """Loss and errors."""

    total: Tensor
    """Sum over the rows, each times its weight; divide by the number of rows that count."""
    error: Tensor
    """Target minus value, [B], without gradient: what priorities are made of."""


def greedy(q: Tensor, mask: Tensor | None = None) -> Tensor:
    """Returns the best allowed action, int64 [B].

    Args:
      q: Action values, [B, A].
      mask: False where an action is not allowed, bool [B, A]; None allows all.
    """
    return (q if mask is None else q.masked_fill(~mask, LOWEST)).argmax(-1)


def double_q_target(batch: Transitions, online_q_t: Tensor, target_q_t: Tensor, mask_t: Tensor | None = None) -> Tensor:
    """Returns the targets, [B]: the online network chooses the action and the target network values it.

    Args:
      batch: The transitions.
      online_q_t: Values of the state reached by the online network, [B, A].
      target_q_t: The same by the target network, [B, A]; without double learning both are this one.
      mask_t: Actions allowed in the state reached, bool [B, A]; None allows all.
    """
    best = greedy(online_q_t, mask_t)
    return batch.reward + batch.discount * target_q_t.gather(1, best[:, None]).squeeze(1).detach()


def q_loss(q_tm1: Tensor, batch: Transitions, target: Tensor, delta: float = 1.0) -> QLoss:
    """Returns the Huber loss of the actions taken.

    Args:
      q_tm1: Values of the state acted in, [B, A].
      batch: The transitions.
      target: Targets, [B].
      delta: Error from which on the loss grows linearly.

    Raises:
      ValueError: The shapes differ.
    """
    if q_tm1.ndim != 2 or target.shape != batch.action.shape or len(q_tm1) != len(target):  # noqa: PLR2004
        raise ValueError(
            f"q_loss needs [B, A], [B] and [B], got {list(q_tm1.shape)}, {list(batch.action.shape)}, "
            f"{list(target.shape)}"
        )
    chosen = q_tm1.gather(1, batch.action[:, None]).squeeze(1)
    losses = torch.nn.functional.huber_loss(chosen, target.detach(), reduction="none", delta=delta)
    return QLoss((batch.weight * losses).sum(), (target - chosen).detach())
