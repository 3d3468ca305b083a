"""The steps of trajectories in time order, as estimators of returns take them."""

from typing import NamedTuple

import torch
from torch import Tensor

from app.types import RowKind


class Steps(NamedTuple):
    """Steps without their bootstrap rows, each [T, 1]."""

    r_t: Tensor
    """Rewards."""
    discount_t: Tensor
    """γ · (1 - terminated)."""
    v_tm1: Tensor
    """Values of the states acted in."""
    v_t: Tensor
    """Values of the states reached."""
    cut_t: Tensor
    """1 where the next step belongs to another trajectory."""
    rows: Tensor
    """Which rows they are, int64 [T]."""

    def over_rows(self, found: Tensor, rows: int) -> Tensor:
        """Returns what was found of each step, [T, 1], at its row, [N]; 0 in bootstrap rows."""
        whole = found.new_zeros(rows)
        whole[self.rows] = found[:, 0]
        return whole


def steps_of(reward: Tensor, value: Tensor, kind: Tensor, gamma: float) -> Steps:
    """Returns the steps of trajectories that stand one behind another, each ending in its bootstrap row.

    Args:
      reward: Reward after the action of each row, [N]; ignored in bootstrap rows.
      value: Value of the state that each row was acted in, or that the bootstrap row reached, [N].
      kind: ``RowKind`` of each row, [N].
      gamma: Discount per step.
    """
    rows = torch.nonzero(kind == RowKind.STEP).squeeze(1)
    after = rows + 1  # The next row: a step of the same trajectory, or its bootstrap row.
    terminated = kind[after] == RowKind.TERMINATED
    discount_t = gamma * (~terminated[:, None]).to(value.dtype)
    cut_t = (kind[after, None] != RowKind.STEP).to(value.dtype)
    return Steps(reward[rows, None], discount_t, value[rows, None], value[after, None], cut_t, rows)
