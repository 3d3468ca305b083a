"""An agent that thinks for a moment, and answers what it was sent."""

import asyncio
from typing import ClassVar

from app.agents.agent import Agent
from app.wire.payload import CodecKind, Payload

THINKING_S = 0.02


class EchoAgent(Agent):
    """Answers each tick with its own bytes."""

    codec: ClassVar[CodecKind] = "bytes"

    async def on_start(self, options: Payload) -> Payload:
        return b""

    async def on_tick(self, payload: Payload) -> Payload:
        await asyncio.sleep(THINKING_S)
        return payload

    async def on_episode(self, payload: Payload, cause: object) -> Payload:
        return b""
