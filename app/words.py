"""Words of the wire contract: kinds of steps, purposes, versions of weights. Needs nothing beyond Python."""

from enum import StrEnum
from typing import NamedTuple


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
