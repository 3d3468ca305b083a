"""Rules of Pong: one rally between two paddles, on a court from -1 to 1 in both directions."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

STAY: Final = 0
UP: Final = 1
DOWN: Final = 2
ACTIONS: Final = 3
FRAMES_A_TICK: Final = 4
"""Frames that an action lasts."""
HALF_PADDLE: Final = 0.2
PADDLE_SPEED: Final = 0.03
"""Way of a paddle in a frame: too little for a steep ball from far, so that placing a ball well wins."""
SERVE_SPEED: Final = 0.04
"""Way of a served ball in a frame, from side to side."""
FASTER: Final = 1.1
"""How much faster a ball flies from side to side behind each hit: no rally goes on for ever between equals."""
TOP_SPEED: Final = 0.12
STEEPEST: Final = 0.045
"""Way up or down in a frame of a ball that the edge of a paddle has hit."""
_DIRECTIONS: Final = (0.0, 1.0, -1.0)


@dataclass(frozen=True, slots=True)
class Rally:
    """Where everything is; a value. Side 0 stands at the left, side 1 at the right."""

    paddles: tuple[float, float]
    """Height of each paddle's middle."""
    ball: tuple[float, float]
    velocity: tuple[float, float]
    """Of the ball, a frame."""
    winner: int | None = None
    """Side whose ball the other missed; None while the rally goes on."""

    @classmethod
    def served(cls, rng: np.random.Generator) -> "Rally":
        """Returns a rally that begins: the ball leaves the middle for a side and a height drawn by chance."""
        side = 1.0 if rng.random() < 0.5 else -1.0  # noqa: PLR2004  # Both alike.
        return cls((0.0, 0.0), (0.0, 0.0), (side * SERVE_SPEED, float(rng.uniform(-1, 1)) * SERVE_SPEED))

    def play(self, left: int, right: int) -> "Rally":
        """Returns the rally a tick later; it stops at the frame in which a ball is missed.

        Args:
          left: What the left paddle does: ``STAY``, ``UP`` or ``DOWN``.
          right: The same of the right one.
        """
        rally = self
        for _ in range(FRAMES_A_TICK):
            if rally.winner is None:
                rally = rally._frame(_DIRECTIONS[left], _DIRECTIONS[right])
        return rally

    def seen_by(self, side: int) -> NDArray[np.float32]:
        """Returns what a side sees, as if it stood at the left: both paddles, own first, the ball, its velocity; [6].

        Velocities are in units of the fastest one.
        """
        own, other = self.paddles[side], self.paddles[1 - side]
        forward = 1.0 if side == 0 else -1.0
        (x, y), (dx, dy) = self.ball, self.velocity
        return np.array([own, other, forward * x, y, forward * dx / TOP_SPEED, dy / STEEPEST], np.float32)

    def mirrored(self) -> "Rally":
        """Returns the rally with both sides swapped."""
        winner = None if self.winner is None else 1 - self.winner
        (x, y), (dx, dy) = self.ball, self.velocity
        return Rally(self.paddles[::-1], (-x, y), (-dx, dy), winner)

    def _frame(self, left: float, right: float) -> "Rally":
        paddles = (_moved(self.paddles[0], left), _moved(self.paddles[1], right))
        dx, dy = self.velocity
        x, y = self.ball[0] + dx, self.ball[1] + dy
        if abs(y) > 1:
            y, dy = (2.0 if y > 0 else -2.0) - y, -dy
        if abs(x) < 1:
            return Rally(paddles, (x, y), (dx, dy))
        side = int(x > 0)
        offset = (y - paddles[side]) / HALF_PADDLE
        if abs(offset) > 1:
            return Rally(paddles, (x, y), (dx, dy), 1 - side)
        back = -1.0 if side else 1.0
        speed = min(abs(dx) * FASTER, TOP_SPEED)
        return replace(self, paddles=paddles, ball=(-back, y), velocity=(back * speed, offset * STEEPEST))


def _moved(paddle: float, direction: float) -> float:
    edge = 1 - HALF_PADDLE
    return min(edge, max(-edge, paddle + direction * PADDLE_SPEED))
