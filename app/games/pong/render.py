"""Pong as a picture, as the player sees it: its own paddle at the left."""

from typing import Final

from app.games.pong.rules import HALF_PADDLE
from app.render.drawing import BLUE, FAINT, GOLD, RED, canvas, pixels
from app.render.frame import Frame, Picture

SIDE: Final = 260
MARGIN: Final = 14
DARK: Final = (24, 28, 34)
NUMBERS: Final = 6
"""Own paddle, the other's, the ball's place and velocity."""
THICK: Final = 6
BALL: Final = 5


def court(frame: Frame) -> Picture:
    """Returns the court with both paddles, the ball and where it flies."""
    picture, draw = canvas(SIDE, SIDE, DARK)
    draw.line((SIDE / 2, 0, SIDE / 2, SIDE), FAINT)
    seen = frame.observation
    if seen is None or seen.size != NUMBERS:
        return pixels(picture)
    own, other, x, y, dx, dy = (float(number) for number in seen.reshape(-1))
    for height, left, color in ((own, MARGIN - THICK, BLUE), (other, SIDE - MARGIN, RED)):
        draw.rectangle((left, _down(height + HALF_PADDLE), left + THICK, _down(height - HALF_PADDLE)), color)
    ball = (_right(x), _down(y))
    draw.line((*ball, _right(x + 4 * dx), _down(y + 4 * dy)), FAINT)
    draw.ellipse((ball[0] - BALL, ball[1] - BALL, ball[0] + BALL, ball[1] + BALL), GOLD)
    return pixels(picture)


def _right(x: float) -> float:
    return MARGIN + (x + 1) / 2 * (SIDE - 2 * MARGIN)


def _down(y: float) -> float:
    return MARGIN + (1 - y) / 2 * (SIDE - 2 * MARGIN)
