"""An agent that fails at a tick, and says so in a log of its own."""

import logging

from app.agents.echo import EchoAgent
from app.wire.payload import Payload

_log = logging.getLogger("my_game")


class FailingAgent(EchoAgent):
    """Echoes, until it is told to fail."""

    async def on_tick(self, payload: Payload) -> Payload:
        """Returns what it got; fails where that is ``fail``."""
        if payload == b'"fail"':
            _log.error("the board %r is not legal; token=abcdef0123", payload)
            raise ArithmeticError("on purpose")
        return payload
