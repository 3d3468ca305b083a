"""Games small enough to search by hand."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST = 9
"""Matches that can be shown."""


@dataclass(frozen=True, slots=True)
class Nim:
    """Players by turns take one, two or three matches; who takes the last one wins."""

    matches: int

    @classmethod
    def of_planes(cls, planes: NDArray[np.generic], /) -> "Nim":
        return cls(int(planes.argmax()))

    def planes(self) -> NDArray[np.float32]:
        return np.eye(MOST + 1, dtype=np.float32)[self.matches]

    @property
    def legal(self) -> NDArray[np.bool_]:
        return np.arange(1, 4) <= self.matches

    @property
    def over(self) -> bool:
        return self.matches == 0

    @property
    def outcome(self) -> float:
        return -1.0

    def play(self, action: int, /) -> "Nim":
        if not self.legal[action]:
            raise ValueError(f"{action + 1} of {self.matches} matches cannot be taken")
        return Nim(self.matches - action - 1)
