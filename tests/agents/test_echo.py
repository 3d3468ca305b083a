from app.agents.agent import AgentContext
from app.agents.echo import EchoAgent
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.types import Purpose


async def test_it_answers_the_bytes_that_it_is_sent() -> None:
    board = Board(Game("s"), "s", 1.0)
    agent = EchoAgent(AgentContext("s", Purpose.PLAY, Draws(1), None, None, lambda *_: None, board))
    assert [await agent.on_tick(tick) for tick in (b"", b"\0\xff", b"again")] == [b"", b"\0\xff", b"again"]
    assert agent.codec == "bytes"
