"""Rules of connect four: two players drop stones into columns; four in a line win."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

ROWS: Final = 6
COLUMNS: Final = 7
IN_LINE: Final = 4
_DIRECTIONS: Final = ((0, 1), (1, 0), (1, 1), (1, -1))


@dataclass(frozen=True, slots=True)
class Position:
    """A position, seen by whoever moves next; positions are values, so a search may keep them."""

    stones: NDArray[np.int8]
    """1 where the mover's stones lie, -1 the other's, 0 none; row 0 at the bottom; int8 [rows, columns]."""
    lost: bool = False
    """Whether the move that led here won."""

    @classmethod
    def first(cls) -> "Position":
        """Returns the empty board."""
        return cls(np.zeros((ROWS, COLUMNS), np.int8))

    @classmethod
    def of_planes(cls, planes: NDArray[np.generic]) -> "Position":
        """Returns the position that ``planes`` show, in which the game goes on.

        Args:
          planes: See ``planes``, [2, rows, columns].

        Raises:
          ValueError: They hold something other than 0 and 1, two stones in one place, or a stone that hangs in the air.
        """
        if planes.shape != (2, ROWS, COLUMNS) or not np.isin(planes, (0, 1)).all():
            raise ValueError(f"planes are {planes.shape}; allowed are 0 and 1 in {(2, ROWS, COLUMNS)}")
        mine, others = planes.astype(np.int8)
        filled = mine + others
        if filled.max() > 1 or np.diff(filled, axis=0).max() > 0:
            raise ValueError("planes show two stones in one place, or one that hangs in the air; row 0 is the lowest")
        return cls(mine - others)

    @property
    def legal(self) -> NDArray[np.bool_]:
        """Returns which columns take a stone, bool [columns]; none does when the game is over."""
        return np.zeros(COLUMNS, bool) if self.lost else self.stones[-1] == 0

    @property
    def over(self) -> bool:
        """Tells whether the game is over."""
        return self.lost or bool(self.stones[-1].all())

    @property
    def outcome(self) -> float:
        """Returns what a game that is over brings whoever would move: -1 a loss, 0 a draw; nobody wins by waiting."""
        return -1.0 if self.lost else 0.0

    def play(self, column: int) -> "Position":
        """Returns the position behind a move, seen by the other player.

        Raises:
          ValueError: The column is full, there is none such, or the game is over.
        """
        if not (0 <= column < COLUMNS and self.legal[column]):
            allowed = ", ".join(map(str, np.flatnonzero(self.legal))) or "none: the game is over"
            raise ValueError(f"column is {column}; allowed are {allowed}")
        row = int((self.stones[:, column] != 0).sum())
        stones = -self.stones
        stones[row, column] = -1
        return Position(stones, _in_line(stones, row, column))

    def swapped(self) -> "Position":
        """Returns the position as the other player sees it, who does not move."""
        return Position(-self.stones, self.lost)

    def planes(self) -> NDArray[np.float32]:
        """Returns the mover's stones and the other's, each 1 where one lies; float32 [2, rows, columns]."""
        return np.stack([self.stones == 1, self.stones == -1]).astype(np.float32)


def _in_line(stones: NDArray[np.int8], row: int, column: int) -> bool:
    """Returns whether the stone at a place stands in a line of four."""
    player = stones[row, column]
    for down, right in _DIRECTIONS:
        length = 1
        for sign in (1, -1):
            y, x = row + sign * down, column + sign * right
            while 0 <= y < ROWS and 0 <= x < COLUMNS and stones[y, x] == player:
                length += 1
                y, x = y + sign * down, x + sign * right
        if length >= IN_LINE:
            return True
    return False
