"""Transitions out of trajectories, for algorithms that learn from the former where a source hands out the latter."""

import torch
from torch import Tensor

from app.algorithms.batch_columns import Batch
from app.types import RowKind

STATE_PARTS = ("observation", "action_mask", "state")


def are_trajectories(batch: Batch) -> bool:
    """Returns whether a batch holds rows of trajectories, not transitions."""
    return "discount" not in batch


def single_steps(batch: Batch, gamma: float) -> dict[str, Tensor]:
    """Returns a transition for each step, in the same order, with the columns of ``app.replay.n_step`` for n = 1.

    Args:
      batch: Columns of ``app.replay.rows``, [N, …]: whole trajectories, each ending in its bootstrap row.
      gamma: Discount per step.
    """
    steps = torch.nonzero(batch["kind"] == RowKind.STEP).squeeze(1)
    after = steps + 1  # The next row: a step of the same trajectory, or its bootstrap row.
    dead = batch["kind"][after] == RowKind.TERMINATED
    transitions = {name: column[steps] for name, column in batch.items() if name != "kind"}
    transitions["discount"] = torch.where(dead, 0.0, gamma).to(batch["reward"].dtype)
    for name, column in batch.items():
        if name.partition("/")[0] in STATE_PARTS:
            transitions[f"next_{name}"] = column[after]
    return transitions
