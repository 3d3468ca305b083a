"""What an agent of a game is made with, without a service."""

from app.agents.agent import AgentContext
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.types import Purpose


def context(seed: int = 1) -> AgentContext:
    """Returns that of an agent without a model."""
    board = Board(Game("g"), "one", 1.0)
    return AgentContext("g-agent-one", Purpose.PLAY, Draws(seed), None, None, lambda *_: None, board)
