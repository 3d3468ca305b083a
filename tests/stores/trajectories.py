"""Trajectories as actor replicas push them."""

from itertools import count

import numpy as np

from app.replay.rows import empty_batch
from app.types import RowKind, Rows
from tests.small_policy import discrete

SPEC = discrete((2,), 2)
EPISODES = count(1)


def trajectory(steps: int, first_tick: int = 0, episode: int | None = None, number: int = 0) -> Rows:
    """Returns a trajectory, of an episode of its own unless told otherwise, acted by version 1.``number``."""
    rows = empty_batch(SPEC, steps + 1)
    rows["kind"][:] = [RowKind.STEP] * steps + [RowKind.TERMINATED]
    rows["weight"][:] = [1] * steps + [0]
    rows["tick"][:] = np.arange(first_tick, first_tick + steps + 1)
    rows["episode"][:] = next(EPISODES) if episode is None else episode
    rows["reward"][:] = 1
    rows["generation"][:] = 1
    rows["version"][:] = number
    return rows
