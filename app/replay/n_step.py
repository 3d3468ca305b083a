"""Single transitions with n-step returns (Sutton, 1988; as replayed by Hessel et al., 2018, arXiv:1710.02298)."""

from typing import Final

import numpy as np

from app.replay.rows import Columns
from app.replay.trajectories import STATE_PARTS, last_rows, part_of
from app.types import RowKind, Rows

LEFT_OUT: Final = "kind"
"""The column that transitions do without: each of them is a step."""


def transition_columns(columns: Columns) -> Columns:
    """Returns the columns of transitions made of rows with these columns."""
    kept = {name: column for name, column in columns.items() if name != LEFT_OUT}
    reached = {f"next_{name}": column for name, column in columns.items() if part_of(name) in STATE_PARTS}
    return kept | {"discount": (np.dtype(np.float32), ())} | reached


def n_step(rows: Rows, steps: int, gamma: float) -> Rows:
    """Returns one transition for each step, in the same order.

    With m = the steps until the trajectory's end, but at most ``steps``, a transition holds what its row holds, and

    - ``reward``: R = r_t + γ r_{t+1} + … + γ^{m-1} r_{t+m-1};
    - ``discount``: γ^m, or 0 where the trajectory terminated on the way;
    - ``next_observation``, ``next_action_mask``, ``next_state``: those of the row m steps on, leaf by leaf.

    So the target is R + discount · Q(next). A trajectory that was truncated, full or lost bootstraps from the state it
    reached, after fewer than ``steps`` steps near its end; nothing crosses a bootstrap row.

    Args:
      rows: Whole trajectories, each ending in its bootstrap row, [N].
      steps: n.
      gamma: Discount per step.

    Raises:
      ValueError: ``steps`` < 1, ``gamma`` is outside [0, 1], the columns differ in length, or the last row is a step.
    """
    if steps < 1 or not 0 <= gamma <= 1:
        raise ValueError(f"n-step returns need steps >= 1 and gamma in [0, 1], got {steps} and {gamma}")
    last = last_rows(rows)
    at = np.flatnonzero(rows["kind"] == RowKind.STEP)
    end = last[at]
    ahead = np.minimum(steps, end - at)
    reached = at + ahead
    returns = np.zeros(len(at))
    for step in range(int(ahead.max(initial=0))):
        within = ahead > step
        returns[within] += gamma**step * rows["reward"][at[within] + step]
    dead = (reached == end) & (rows["kind"][end] == RowKind.TERMINATED)
    transitions = {name: column[at] for name, column in rows.items() if name != LEFT_OUT}
    transitions["reward"] = returns.astype(np.float32)
    transitions["discount"] = np.where(dead, 0.0, float(gamma) ** ahead).astype(np.float32)
    for name, column in rows.items():
        if part_of(name) in STATE_PARTS:
            transitions[f"next_{name}"] = column[reached]
    return transitions
