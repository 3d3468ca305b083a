"""Tic-tac-toe as a picture."""

from app.games.board_render import board, moves, planes_of
from app.render.frame import Frame, Picture


def marks(frame: Frame) -> Picture:
    """Returns the board as the mover sees it, with what it thought of each place."""
    planes = planes_of(frame)
    likely, chosen = moves(frame)
    shape = None if planes is None else planes.shape[1:]
    return board(planes, None if likely is None or shape is None else likely.reshape(shape), chosen)
