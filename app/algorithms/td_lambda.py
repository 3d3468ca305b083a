"""λ-returns (Sutton, 1988), in the forward view of Sutton and Barto (2018), section 12.1."""

import torch
from torch import Tensor

from app.algorithms.time_major import check_shapes


def lambda_returns(r_t: Tensor, discount_t: Tensor, v_t: Tensor, cut_t: Tensor, lambda_: float) -> Tensor:
    """Returns the targets of the states acted in, [T, B].

    Args:
      r_t: Rewards, float [T, B].
      discount_t: γ · (1 - terminated), float [T, B].
      v_t: Values of the states reached (of the final one where truncated), float [T, B].
      cut_t: 1 where the next row belongs to another trajectory, float [T, B].
      lambda_: Mixing of one-step (0) and Monte Carlo (1) returns.

    Raises:
      ValueError: The shapes differ.
    """
    check_shapes("lambda_returns", r_t, discount_t, v_t, cut_t)
    mixed_t = lambda_ * (1 - cut_t)
    following = v_t[-1]
    returns = torch.empty_like(r_t)
    for t in reversed(range(len(r_t))):
        following = r_t[t] + discount_t[t] * ((1 - mixed_t[t]) * v_t[t] + mixed_t[t] * following)
        returns[t] = following
    return returns
