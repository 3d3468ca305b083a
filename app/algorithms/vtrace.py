"""V-trace (Espeholt et al., 2018), https://arxiv.org/abs/1802.01561, equation 1 and section 4.2."""

from typing import NamedTuple

from torch import Tensor

from app.algorithms.time_major import check_shapes, discounted_sums, next_rows


class VTrace(NamedTuple):
    """What the value and the policy learn from, [T, B]."""

    target_tm1: Tensor
    """Value targets of the states acted in."""
    advantage: Tensor
    """Advantages of the actions, weighted by their clipped ratio."""


class Clips(NamedTuple):
    """Largest importance ratios."""

    rho: float = 1.0
    """Of the temporal difference: the larger, the closer the fixed point is to the target policy's value."""
    c: float = 1.0
    """Of the trace: the smaller, the less variance."""
    advantage: float = 1.0
    """Of the policy's advantage."""


def vtrace(
    r_t: Tensor,
    discount_t: Tensor,
    v_tm1: Tensor,
    v_t: Tensor,
    log_rho_tm1: Tensor,
    cut_t: Tensor,
    lambda_: float = 1.0,
    clips: Clips = Clips(),  # noqa: B008  # A value.
) -> VTrace:
    """Returns value targets and advantages that are corrected for the policy that acted.

    Args:
      r_t: Rewards, float [T, B].
      discount_t: γ · (1 - terminated), float [T, B].
      v_tm1: Values of the states acted in, float [T, B].
      v_t: Values of the states reached (of the final one where truncated), float [T, B].
      log_rho_tm1: Log-ratio of target to behaviour probability of the action taken, float [T, B].
      cut_t: 1 where the next row belongs to another trajectory, float [T, B].
      lambda_: Decay of the trace.
      clips: Largest ratios.

    Raises:
      ValueError: The shapes differ.
    """
    check_shapes("vtrace", r_t, discount_t, v_tm1, v_t, log_rho_tm1, cut_t)
    rho_tm1 = log_rho_tm1.exp()
    delta_t = rho_tm1.clamp(max=clips.rho) * (r_t + discount_t * v_t - v_tm1)
    decay_t = lambda_ * rho_tm1.clamp(max=clips.c) * discount_t * (1 - cut_t)
    errors = discounted_sums(delta_t, decay_t)
    target_t = v_t + (1 - cut_t) * next_rows(errors)
    advantage = rho_tm1.clamp(max=clips.advantage) * (r_t + discount_t * target_t - v_tm1)
    return VTrace(v_tm1 + errors, advantage)
