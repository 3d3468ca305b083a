"""Trajectories whose rows tell each other apart."""

from collections.abc import Iterator, Sequence

import numpy as np

from app.types import RowKind, Rows

IGNORED = 777.0
"""Reward of a bootstrap row: nothing may look at it."""


def trajectory(
    numbers: Iterator[int], rewards: Sequence[float], end: RowKind, *, episode: int = 0, first_tick: int = 0
) -> Rows:
    """Returns a trajectory with so many steps; every row has a number of its own in each nested column."""
    rows = len(rewards) + 1
    at = np.array([next(numbers) for _ in range(rows)])
    return {
        "observation/units": np.stack([at, -at], axis=1).astype(np.float32),
        "observation/map": (at % 256).astype(np.uint8)[:, None],
        "action": at.astype(np.int64),
        "action_mask": np.stack([np.ones(rows), at % 2], axis=1).astype(np.uint8),
        "state/0": (at * 10.0).astype(np.float32)[:, None],
        "reward": np.array([*rewards, IGNORED], np.float32),
        "kind": np.array([RowKind.STEP] * len(rewards) + [end], np.int8),
        "weight": np.array([1.0] * len(rewards) + [0.0], np.float32),
        "episode": np.full(rows, episode, np.int64),
        "tick": np.arange(first_tick, first_tick + rows, dtype=np.int32),
    }


def joined(*parts: Rows) -> Rows:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def columns_of(rows: Rows) -> dict[str, tuple[np.dtype[np.generic], tuple[int, ...]]]:
    return {name: (column.dtype, column.shape[1:]) for name, column in rows.items()}
