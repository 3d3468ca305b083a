"""Boards of two planes as pictures: the mover's stones and the other's."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.render.drawing import BLUE, FAINT, GOLD, INK, RED, canvas, pixels
from app.render.frame import Frame, Picture
from app.render.probabilities import probabilities

CELL: Final = 48
INSET: Final = 7
PLANES: Final = 2
LIGHT: Final = 0.08
"""Share of the palest mark: a choice that is hardly probable can still be seen."""


def planes_of(frame: Frame) -> NDArray[np.generic] | None:
    """Returns the mover's stones and the other's, [2, rows, columns]; None where the observation is no such board."""
    seen = frame.observation
    if seen is None:
        seen = frame.parts.get("observation")
    return seen if seen is not None and seen.ndim == 3 and len(seen) == PLANES else None  # noqa: PLR2004


def board(planes: NDArray[np.generic] | None, likely: NDArray[np.float32] | None, chosen: int | None) -> Picture:
    """Returns a board: blue is the mover, red the other, gold the more, the more probable a move is.

    Args:
      planes: [2, rows, columns], row 0 at the top; None draws nothing.
      likely: How probable a move to each place is, [rows, columns]; None where nobody told.
      chosen: The place that was chosen, counted row by row; None where none was.
    """
    if planes is None:
        return pixels(canvas(CELL, CELL)[0])
    rows, columns = planes.shape[1:]
    picture, draw = canvas(columns * CELL + 1, rows * CELL + 1)
    for row in range(rows):
        for column in range(columns):
            left, top = column * CELL, row * CELL
            inner = (left + INSET, top + INSET, left + CELL - INSET, top + CELL - INSET)
            draw.rectangle((left, top, left + CELL, top + CELL), None, FAINT)
            if planes[0, row, column] or planes[1, row, column]:
                draw.ellipse(inner, BLUE if planes[0, row, column] else RED)
            elif likely is not None and likely[row, column] > LIGHT:
                share = float(likely[row, column])
                draw.ellipse(inner, None, GOLD, max(1, round(share * (CELL / 2 - INSET))))
            if chosen == row * columns + column:
                draw.rectangle((left + 2, top + 2, left + CELL - 2, top + CELL - 2), None, INK, 2)
    return pixels(picture)


def moves(frame: Frame) -> tuple[NDArray[np.float32] | None, int | None]:
    """Returns how probable each move was, and which was chosen; None where nobody told."""
    likely = next(iter(probabilities(frame.episode, frame.step).values()), None)
    action = frame.step.action.get("") if frame.step.has_decision else None
    return likely, None if action is None or action.ndim else int(action)
