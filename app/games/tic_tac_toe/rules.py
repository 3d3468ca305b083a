"""Rules of tic-tac-toe: two players mark nine places; three in a line win."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

SIDE: Final = 3
PLACES: Final = SIDE * SIDE
LINES: Final = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


@dataclass(frozen=True, slots=True)
class Position:
    """A position, seen by whoever moves next; positions are values and may be keys."""

    marks: tuple[int, ...]
    """1 where the mover's marks stand, -1 the other's, 0 none; row by row, [9]."""
    lost: bool = False
    """Whether the move that led here won."""

    @classmethod
    def first(cls) -> "Position":
        """Returns the empty board."""
        return cls((0,) * PLACES)

    @classmethod
    def of_planes(cls, planes: NDArray[np.generic]) -> "Position":
        """Returns the position that ``planes`` show, in which the game goes on.

        Args:
          planes: See ``planes``, [2, 3, 3].

        Raises:
          ValueError: They hold something other than 0 and 1, or two marks in one place.
        """
        if planes.shape != (2, SIDE, SIDE) or not np.isin(planes, (0, 1)).all():
            raise ValueError(f"planes are {planes.shape}; allowed are 0 and 1 in {(2, SIDE, SIDE)}")
        mine, others = planes.astype(np.int8).reshape(2, PLACES)
        if (mine + others).max() > 1:
            raise ValueError("planes show two marks in one place; allowed is one")
        return cls(tuple((mine - others).tolist()))

    @property
    def legal(self) -> NDArray[np.bool_]:
        """Returns which places are free, bool [9]; none is when the game is over."""
        return np.zeros(PLACES, bool) if self.lost else np.array([mark == 0 for mark in self.marks])

    @property
    def over(self) -> bool:
        """Tells whether the game is over."""
        return self.lost or 0 not in self.marks

    @property
    def outcome(self) -> float:
        """Returns what a game that is over brings whoever would move: -1 a loss, 0 a draw; nobody wins by waiting."""
        return -1.0 if self.lost else 0.0

    def play(self, place: int) -> "Position":
        """Returns the position behind a move, seen by the other player.

        Raises:
          ValueError: The place is taken, there is none such, or the game is over.
        """
        if self.lost or not 0 <= place < PLACES or self.marks[place]:
            allowed = ", ".join(map(str, np.flatnonzero(self.legal))) or "none: the game is over"
            raise ValueError(f"place is {place}; allowed are {allowed}")
        marks = tuple(-1 if at == place else -mark for at, mark in enumerate(self.marks))
        return Position(marks, any(all(marks[at] == -1 for at in line) for line in LINES if place in line))

    def swapped(self) -> "Position":
        """Returns the position as the other player sees it, who does not move."""
        return Position(tuple(-mark for mark in self.marks), self.lost)

    def planes(self) -> NDArray[np.float32]:
        """Returns the mover's marks and the other's, each 1 where one stands; float32 [2, 3, 3]."""
        marks = np.array(self.marks, np.int8).reshape(SIDE, SIDE)
        return np.stack([marks == 1, marks == -1]).astype(np.float32)
