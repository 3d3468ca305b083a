"""Batches of transitions, and a chain that is learned in moments."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from app.models.spec import ModelSpec
from app.replay.n_step import n_step
from app.replay.rows import empty_batch
from app.types import RowKind

LENGTH = 4
"""States of the chain."""


def transitions(
    spec: ModelSpec,
    observation: Sequence[Sequence[float]],
    action: object,
    reward: Sequence[float],
    discount: Sequence[float],
    following: Sequence[Sequence[float]],
) -> dict[str, Tensor]:
    """Returns a batch of these columns in which all is allowed."""
    rows = len(reward)
    pair = empty_batch(spec, 2) | {"kind": np.array([RowKind.STEP, RowKind.LOST], np.int8)}
    whole = n_step(pair, 1, 0)
    batch = {name: torch.from_numpy(np.repeat(column[:1], rows, 0)) for name, column in whole.items()}
    return batch | {
        "observation": torch.tensor(observation),
        "action": torch.as_tensor(action),
        "reward": torch.tensor(reward),
        "discount": torch.tensor(discount),
        "next_observation": torch.tensor(following),
        "weight": torch.ones(rows),
    }


def chain(spec: ModelSpec, actions: np.ndarray, gamma: float = 0.5) -> dict[str, Tensor]:
    """Returns one transition a state and action: 1 goes right, 0 ends the game with 0.1; right of the last state is 1.

    So going right is worth 0.5^k at k states from the end, and 0.1 is better in the first state alone.
    """
    state = np.arange(len(actions)) % LENGTH
    eye = np.eye(LENGTH + 1, dtype=np.float32)
    right = actions == 1
    ends = ~right | (state == LENGTH - 1)
    reward = np.where(right, (state == LENGTH - 1).astype(np.float32), 0.3)
    following = np.where(right, state + 1, state)
    return transitions(
        spec,
        eye[state].tolist(),
        actions.astype(np.int64),
        reward.astype(float).tolist(),
        np.where(ends, 0.0, gamma).tolist(),
        eye[following].tolist(),
    )


BEST = [0, 0, 1, 1]
"""What is best in each state: 0.3 against 0.125, 0.25, 0.5 and 1."""
