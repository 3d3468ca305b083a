"""CartPole as a picture."""

import math
from typing import Final

from app.render.drawing import BLUE, FAINT, GOLD, INK, canvas, pixels
from app.render.frame import Frame, Picture

WIDTH: Final = 320
HEIGHT: Final = 200
TRACK: Final = 2.4
"""Distance from the middle at which an episode ends."""
FLOOR: Final = 160
CART: Final = (44, 22)
POLE: Final = 100
"""Length of the pole in pixels."""
POSITION: Final = 0
ANGLES: Final = {2: 1, 4: 2}
"""Where the angle stands in observations of so many numbers: without velocities, and with them."""


def cart(frame: Frame) -> Picture:
    """Returns the cart on its track, its pole, and an arrow for the push that follows."""
    picture, draw = canvas(WIDTH, HEIGHT)
    draw.line((0, FLOOR, WIDTH, FLOOR), INK, 2)
    seen = frame.observation
    if seen is None or seen.size not in ANGLES:
        return pixels(picture)
    x = WIDTH / 2 + float(seen[POSITION]) / TRACK * (WIDTH / 2 - CART[0] / 2)
    angle = float(seen[ANGLES[seen.size]])
    top = FLOOR - CART[1]
    draw.line((WIDTH / 2, FLOOR - 4, WIDTH / 2, FLOOR + 8), FAINT, 2)
    draw.rectangle((x - CART[0] / 2, top, x + CART[0] / 2, FLOOR - 2), BLUE)
    tip = (x + POLE * math.sin(angle), top - POLE * math.cos(angle))
    draw.line((x, top, *tip), GOLD, 8)
    action = frame.step.action.get("") if frame.step.has_decision else None
    if action is not None and action.ndim == 0:
        way = 1 if float(action) > 0 else -1
        draw.line((x + way * 26, FLOOR + 16, x + way * 50, FLOOR + 16), INK, 3)
        draw.polygon([(x + way * 58, FLOOR + 16), (x + way * 48, FLOOR + 10), (x + way * 48, FLOOR + 22)], INK)
    return pixels(picture)
