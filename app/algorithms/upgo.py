"""Upgoing policy update (Vinyals et al., 2019), https://doi.org/10.1038/s41586-019-1724-z, Methods."""

from torch import Tensor

from app.algorithms.time_major import check_shapes, discounted_sums, goes_on, next_rows


def upgo_returns(r_t: Tensor, discount_t: Tensor, v_tm1: Tensor, v_t: Tensor, cut_t: Tensor) -> Tensor:
    """Returns the upgoing targets of the states acted in, [T, B].

    The return follows what happened for as long as it went better than expected, and takes the value from there on.

    Args:
      r_t: Rewards, float [T, B].
      discount_t: γ · (1 - terminated), float [T, B].
      v_tm1: Values of the states acted in, float [T, B].
      v_t: Values of the states reached (of the final one where truncated), float [T, B].
      cut_t: 1 where the next row belongs to another trajectory, float [T, B].

    Raises:
      ValueError: The shapes differ.
    """
    check_shapes("upgo_returns", r_t, discount_t, v_tm1, v_t, cut_t)
    better_tm1 = (r_t + discount_t * v_t >= v_tm1).to(r_t.dtype)
    followed_t = goes_on(cut_t) * next_rows(better_tm1)
    return discounted_sums(r_t + discount_t * (1 - followed_t) * v_t, discount_t * followed_t)
