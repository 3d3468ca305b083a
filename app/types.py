"""Values that several packages share."""

from enum import IntEnum, StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SessionId = str
"""One agent's side of a game, opaque but for a trailing ``-agent-<name>``."""

Rows = dict[str, NDArray[np.generic]]
"""Columns of equal length: one row a tick, and one bootstrap row behind each trajectory."""

Amount = float | NDArray[np.float32]
"""A reward or a value: one number, or a number for each reward that a model names, [rewards]."""

Arrays = dict[str, NDArray[np.generic]]
"""Named tensors of a model: its state dict as numpy."""


class StepKind(StrEnum):
    """What a game core asks for."""

    START = "start"
    TICK = "tick"
    STOP = "stop"
    AUTO = "auto"


class Purpose(StrEnum):
    """Why a session is played; only ``train`` is recorded for learning."""

    TRAIN = "train"
    EVALUATE = "evaluate"
    PLAY = "play"


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


class Version(NamedTuple):
    """Version of weights: ``generation`` grows with each trainer start, ``number`` with each publish.

    Generation 0 is no trainer's: 0.0 are the weights before the first publish, and the others were set apart for good.
    """

    generation: int
    number: int

    @property
    def frozen(self) -> bool:
        """Returns whether the weights were set apart for good: no trainer's newest ones were ever these."""
        return self.generation == 0 and self.number > 0

    def __str__(self) -> str:
        return f"{self.generation}.{self.number}"

    @classmethod
    def parse(cls, text: str) -> "Version":
        """Returns the version written as ``generation.number``.

        Raises:
          ValueError: The text is not two whole numbers joined by a dot.
        """
        generation, dot, number = text.partition(".")
        if not (dot and generation.isdecimal() and number.isdecimal()):
            raise ValueError(f"a version is written as generation.number, such as 1.57; got {text!r}")
        return cls(int(generation), int(number))


UNTRAINED = Version(0, 0)
"""The weights before the first publish."""
