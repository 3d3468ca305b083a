"""n-step returns (Watkins, 1989), as in Sutton and Barto (2018), section 7.1."""

import torch
from torch import Tensor

from app.algorithms.time_major import check_shapes


def n_step_returns(r_t: Tensor, discount_t: Tensor, v_t: Tensor, cut_t: Tensor, n: int) -> Tensor:
    """Returns the targets of the states acted in, [T, B]: n rewards, or fewer where the trajectory ends, and a value.

    Args:
      r_t: Rewards, float [T, B].
      discount_t: γ · (1 - terminated), float [T, B].
      v_t: Values of the states reached (of the final one where truncated), float [T, B].
      cut_t: 1 where the next row belongs to another trajectory, float [T, B].
      n: Most rewards in a return.

    Raises:
      ValueError: The shapes differ, or n is below 1.
    """
    check_shapes("n_step_returns", r_t, discount_t, v_t, cut_t)
    if n < 1:
        raise ValueError(f"n_step_returns needs n of at least 1, got {n}")
    returns = r_t + discount_t * v_t
    for _ in range(min(n, len(r_t)) - 1):
        following = torch.cat([returns[1:], v_t[-1:]])
        returns = r_t + discount_t * torch.where(cut_t > 0, v_t, following)
    return returns
