"""Rows of small trajectories."""

import numpy as np

from app.replay.rows import row_dtypes
from app.types import RowKind, Rows
from tests.small_policy import discrete

SPEC = discrete((2,), 3)


def rows_of(*trajectories: tuple[int, RowKind]) -> Rows:
    """Returns trajectories of so many steps that end so; episodes and ticks are numbered, and observations differ."""
    kinds = [kind for steps, end in trajectories for kind in [RowKind.STEP] * steps + [end]]
    episodes = [number for number, (steps, _) in enumerate(trajectories) for _ in range(steps + 1)]
    ticks = [tick for steps, _ in trajectories for tick in range(steps + 1)]
    size = len(kinds)
    found: Rows = {name: np.zeros((size, *shape), dtype) for name, (dtype, shape) in row_dtypes(SPEC).items()}
    step = np.array(kinds) == RowKind.STEP
    return found | {
        "observation": np.arange(2 * size, dtype=np.float32).reshape(size, 2),
        "action": np.arange(size, dtype=found["action"].dtype) % 3,
        "action_mask": np.ones((size, 3), np.uint8),
        "reward": np.where(step, np.arange(size), 0).astype(np.float32),
        "log_prob": np.where(step, -0.5, 0).astype(np.float32),
        "value": np.where(step, 1.0, 0).astype(np.float32),
        "kind": np.array(kinds, np.int8),
        "weight": step.astype(np.float32),
        "generation": np.ones(size, np.int32),
        "episode": np.array(episodes, np.int64),
        "tick": np.array(ticks, np.int32),
    }
