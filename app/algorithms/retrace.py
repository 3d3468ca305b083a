"""Retrace(λ) (Munos et al., 2016), https://arxiv.org/abs/1606.02647."""

from torch import Tensor

from app.algorithms.time_major import check_shapes, discounted_sums, goes_on, next_rows


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
    trace_t = goes_on(cut_t) * next_rows(lambda_ * log_rho_tm1.exp().clamp(max=1.0))
    return discounted_sums(r_t + discount_t * (v_t - trace_t * next_rows(q_tm1)), discount_t * trace_t)
