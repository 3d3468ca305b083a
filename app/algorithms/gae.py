"""Generalized advantage estimation (Schulman et al., 2016), https://arxiv.org/abs/1506.02438."""

import numpy as np
from numpy.typing import NDArray

from app.types import RowKind


def gae(
    reward_t: NDArray[np.float32],
    value_tm1: NDArray[np.float32],
    kind: NDArray[np.int8],
    gamma: float,
    lambda_: float,
) -> NDArray[np.float32]:
    """Returns λ-advantages of trajectories that stand one behind another, [N].

    Each trajectory is a run of step rows and one bootstrap row, whose ``kind`` says how it ended and whose value
    is that of the state reached. A terminated trajectory is worth 0 from there on; a full, truncated or lost one is
    worth the value of its bootstrap row. Nothing crosses a bootstrap row.

    Args:
      reward_t: Reward after the action of each row, [N]; ignored in bootstrap rows.
      value_tm1: Value of the state that each row was acted in, or that the bootstrap row reached, [N].
      kind: ``RowKind`` of each row, [N].
      gamma: Discount per step.
      lambda_: Mixing of one-step (0) and Monte Carlo (1) returns.

    Returns:
      Advantages, 0 in bootstrap rows.

    Raises:
      ValueError: The shapes differ, or the last row is not a bootstrap row.
    """
    if not reward_t.shape == value_tm1.shape == kind.shape or kind.ndim != 1:
        raise ValueError(f"gae needs one shape [N], got {reward_t.shape}, {value_tm1.shape}, {kind.shape}")
    if kind.size and kind[-1] == RowKind.STEP:
        raise ValueError("gae needs a bootstrap row behind each trajectory; the last row is a step")
    # Plain floats: a loop over array elements costs ten times as much.
    rewards, values, kinds = reward_t.tolist(), value_tm1.tolist(), kind.tolist()
    advantages = [0.0] * len(kinds)
    advantage = value_t = 0.0
    for i in range(len(kinds) - 1, -1, -1):
        if kinds[i] == RowKind.STEP:
            delta_t = rewards[i] + gamma * value_t - values[i]
            advantages[i] = advantage = delta_t + gamma * lambda_ * advantage
            value_t = values[i]
        else:
            advantage = 0.0
            value_t = 0.0 if kinds[i] == RowKind.TERMINATED else values[i]
    return np.array(advantages, np.float32)
