"""Connect four as a PettingZoo environment."""

from typing import Any, ClassVar

from app.games.board_game import BoardGame
from app.games.connect_four.rules import Position


class ConnectFour(BoardGame):
    """Two agents by turns; 1 for a win, -1 for a loss, 0 for a draw.

    An observation is ``{"observation": planes, "action_mask": columns}``; see ``Position.planes``.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "connect_four", "is_parallelizable": False, "render_modes": []}
    position = Position
