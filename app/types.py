"""Values that several packages share."""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from app.words import UNTRAINED, Purpose, StepKind, Version

__all__ = ["UNTRAINED", "Amount", "Arrays", "Purpose", "RowKind", "Rows", "SessionId", "StepKind", "Version"]

SessionId = str
"""One agent's side of a game, opaque but for a trailing ``-agent-<name>``."""

Rows = dict[str, NDArray[np.generic]]
"""Columns of equal length: one row a tick, and one bootstrap row behind each trajectory."""

Amount = float | NDArray[np.float32]
"""A reward or a value: one number, or a number for each reward that a model names, [rewards]."""

Arrays = dict[str, NDArray[np.generic]]
"""Named tensors of a model: its state dict as numpy."""


class RowKind(IntEnum):
    """Kind of a row: a step, or the bootstrap row that tells how its trajectory ended."""

    STEP = 0
    FULL = 1
    """The unroll was full: the game went on."""
    TERMINATED = 2
    """The game ended by its own rules: nothing follows, so its value is 0."""
    TRUNCATED = 3
    """The game was cut from outside (time limit, idle, shutdown): its value is bootstrapped."""
    LOST = 4
    """Padding, or a trajectory whose end never arrived."""
