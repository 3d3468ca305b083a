"""The arena as a picture."""

from typing import Final

from google.protobuf.message import DecodeError

from app.games.arena.arena_pb2 import SIDE_BOSS, StopInput, TickInput
from app.render.drawing import BLUE, FAINT, GOLD, GREEN, INK, RED, canvas, pixels
from app.render.frame import Frame, Picture

CELL: Final = 36
WIDTH: Final = 8
HEIGHT: Final = 6
INSET: Final = 5
BAR: Final = 4
"""Height of a health bar."""


def arena(frame: Frame) -> Picture:
    """Returns the grid with all who live: players blue, bosses red, whoever decides with a golden ring."""
    tick = _tick(frame)
    width, height = (tick.width or WIDTH, tick.height or HEIGHT) if tick is not None else (WIDTH, HEIGHT)
    picture, draw = canvas(width * CELL + 1, height * CELL + 1)
    for column in range(width + 1):
        draw.line((column * CELL, 0, column * CELL, height * CELL), FAINT)
    for row in range(height + 1):
        draw.line((0, row * CELL, width * CELL, row * CELL), FAINT)
    if tick is None:
        return pixels(picture)
    deciding = {control.entity for control in tick.controls}
    for entity in tick.entities:
        if entity.health <= 0:
            continue
        left, top = entity.x * CELL, entity.y * CELL
        inner = (left + INSET, top + INSET, left + CELL - INSET, top + CELL - INSET)
        draw.ellipse(inner, RED if entity.side == SIDE_BOSS else BLUE, GOLD if entity.id in deciding else INK, 3)
        share = entity.health / max(1, entity.max_health)
        draw.rectangle((left + 2, top + 1, left + 2 + (CELL - 4) * share, top + 1 + BAR), GREEN)
    return pixels(picture)


def _tick(frame: Frame) -> TickInput | None:
    """Returns the state that came with a step; None where none did."""
    body = frame.step.input
    if not body:
        return None
    try:
        if frame.step.event == "tick":
            return TickInput.FromString(body)
        stop = StopInput.FromString(body)
    except DecodeError:
        return None
    return stop.last if stop.HasField("last") else None
