"""An agent that thinks for a moment, and answers what it was sent."""

import asyncio

from app.agents.echo import EchoAgent
from app.wire.payload import Payload

THINKING_S = 0.02


class SlowEchoAgent(EchoAgent):
    """Answers each tick with its own bytes, at the pace of a game."""

    async def on_tick(self, payload: Payload) -> Payload:
        await asyncio.sleep(THINKING_S)
        return await super().on_tick(payload)
