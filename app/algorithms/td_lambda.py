"""λ-returns (Sutton, 1988), in the forward view of Sutton and Barto (2018), section 12.1."""

from torch import Tensor

from app.algorithms.time_major import check_shapes, discounted_sums, goes_on


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
    mixed_t = lambda_ * goes_on(cut_t)
    return discounted_sums(r_t + discount_t * (1 - mixed_t) * v_t, discount_t * mixed_t)
