"""Distributional Q-learning: C51 (Bellemare et al., 2017), arXiv:1707.06887, and QR-DQN (Dabney et al., 2018)."""

import torch
from torch import Tensor

from app.algorithms.dqn import QLoss, Transitions


def expected(logits: Tensor, support: Tensor) -> Tensor:
    """Returns action values [B, A] of categorical return distributions [B, A, atoms] over ``support`` [atoms]."""
    return logits.softmax(-1) @ support


def project(probs_t: Tensor, batch: Transitions, support: Tensor) -> Tensor:
    """Returns the distribution of reward + discount · Z on the atoms of the support, [B, atoms].

    Args:
      probs_t: Return distribution of the state reached and its best action, [B, atoms].
      batch: The transitions.
      support: Evenly spaced, ascending returns, [atoms].
    """
    low, high = float(support[0]), float(support[-1])
    gap = (high - low) / (len(support) - 1)
    moved = (batch.reward[:, None] + batch.discount[:, None] * support).clamp(low, high)
    # The share of an atom that lands between two others is split by how near it is to each.
    nearness = (1 - (moved[:, None, :] - support[None, :, None]).abs() / gap).clamp(min=0.0)
    return (nearness * probs_t[:, None, :]).sum(-1)


def c51_loss(logits_tm1: Tensor, batch: Transitions, target_probs: Tensor, support: Tensor) -> QLoss:
    """Returns the cross-entropy of the actions taken against projected targets.

    Args:
      logits_tm1: Return distributions of the state acted in, [B, A, atoms].
      batch: The transitions.
      target_probs: From ``project``, [B, atoms].
      support: Returns of the atoms, [atoms].
    """
    rows = torch.arange(len(logits_tm1), device=logits_tm1.device)
    log_probs = logits_tm1[rows, batch.action].log_softmax(-1)
    losses = -(target_probs.detach() * log_probs).sum(-1)
    error = (target_probs @ support - log_probs.exp() @ support).detach()
    return QLoss((batch.weight * losses).sum(), error)


def quantile_loss(quantiles_tm1: Tensor, batch: Transitions, quantiles_t: Tensor, delta: float = 1.0) -> QLoss:
    """Returns the quantile Huber loss of the actions taken.

    Args:
      quantiles_tm1: Quantiles of the return of each action in the state acted in, [B, A, N].
      batch: The transitions.
      quantiles_t: Quantiles of the state reached and its best action by the target network, [B, M].
      delta: Error from which on the loss grows linearly.
    """
    rows = torch.arange(len(quantiles_tm1), device=quantiles_tm1.device)
    chosen = quantiles_tm1[rows, batch.action]
    target = (batch.reward[:, None] + batch.discount[:, None] * quantiles_t).detach()
    count = chosen.shape[1]
    middle = (torch.arange(count, device=chosen.device, dtype=chosen.dtype) + 0.5) / count
    error = target[:, None, :] - chosen[:, :, None]
    huber = torch.nn.functional.huber_loss(
        chosen[:, :, None].expand_as(error), target[:, None, :].expand_as(error), reduction="none", delta=delta
    )
    losses = ((middle[:, None] - (error.detach() < 0).to(chosen.dtype)).abs() * huber / delta).mean(2).sum(1)
    return QLoss((batch.weight * losses).sum(), (target.mean(1) - chosen.mean(1)).detach())
