"""Retrace(λ) (Munos et al., 2016), https://arxiv.org/abs/1606.02647."""

import torch
from torch import Tensor

from app.algorithms.time_major import check_shapes


def retrace_targets(
    r_t: Tensor,
    discount_t: Tensor,
    q_tm1: Tensor,
    v_t: Tensor,
    log_rho_tm1: Tensor,
    cut_t: Tensor,
    lambda_: float = 1.0,
) -> Tensor:
    """Returns the targets of the action values, [T, B].

    Args:
      r_t: Rewards, float [T, B].
      discount_t: γ · (1 - terminated), float [T, B].
      q_tm1: Values of the actions taken, float [T, B].
      v_t: Expected action value of the states reached under the target policy, float [T, B].
      log_rho_tm1: Log-ratio of target to behaviour probability of the action taken, float [T, B].
      cut_t: 1 where the next row belongs to another trajectory, float [T, B].
      lambda_: Decay of the trace.

    Raises:
      ValueError: The shapes differ.
    """
    check_shapes("retrace_targets", r_t, discount_t, q_tm1, v_t, log_rho_tm1, cut_t)
    trace_tm1 = lambda_ * log_rho_tm1.exp().clamp(max=1.0)
    targets = torch.empty_like(r_t)
    targets[-1] = r_t[-1] + discount_t[-1] * v_t[-1]
    for t in reversed(range(len(r_t) - 1)):
        correction = trace_tm1[t + 1] * (targets[t + 1] - q_tm1[t + 1]) * (1 - cut_t[t])
        targets[t] = r_t[t] + discount_t[t] * (v_t[t] + correction)
    return targets
