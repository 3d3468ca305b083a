"""Connect four as a picture."""

import numpy as np

from app.games.board_render import board, moves, planes_of
from app.games.connect_four.rules import COLUMNS, ROWS
from app.render.frame import Frame, Picture


def stones(frame: Frame) -> Picture:
    """Returns the board as the mover sees it, with what it thought of each column where its stone would come to lie."""
    planes = planes_of(frame)
    if planes is None:
        return board(None, None, None)
    upright = planes[:, ::-1]
    filled = (planes[0] + planes[1]).sum(axis=0).astype(int)
    free = [column for column in range(COLUMNS) if filled[column] < ROWS]
    likely, chosen = moves(frame)
    places = np.zeros((ROWS, COLUMNS), np.float32)
    if likely is not None:
        for column in free:
            places[ROWS - 1 - filled[column], column] = likely[column]
    place = None if chosen is None or chosen not in free else (ROWS - 1 - int(filled[chosen])) * COLUMNS + chosen
    return board(upright, places, place)
