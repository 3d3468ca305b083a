"""Tic-tac-toe as a PettingZoo environment."""

from typing import Any, ClassVar

from app.games.board_game import BoardGame
from app.games.tic_tac_toe.rules import Position


class TicTacToe(BoardGame):
    """Two agents by turns; 1 for a win, -1 for a loss, 0 for a draw.

    An observation is ``{"observation": planes, "action_mask": places}``; see ``Position.planes``.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "tic_tac_toe", "is_parallelizable": False, "render_modes": []}
    position = Position
