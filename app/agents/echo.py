"""Agent without a model that answers what it is sent: for load tests, and for the first tries of a new game core."""

from typing import ClassVar

from app.agents.agent import Agent
from app.wire.payload import CodecKind, Payload


class EchoAgent(Agent):
    """Answers each tick with the tick's own bytes."""

    codec: ClassVar[CodecKind] = "bytes"

    async def on_tick(self, payload: Payload) -> Payload:
        """Returns the payload."""
        return payload
