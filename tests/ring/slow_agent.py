"""An agent whose code blocks its replica's event loop, for as long as it is told to."""

import os
import time

from app.agents.agent import Agent
from app.wire.payload import Payload


class SlowAgent(Agent):
    """Sleeps where it must not."""

    async def on_tick(self, payload: Payload) -> Payload:
        if isinstance(payload, dict) and isinstance(seconds := payload.get("block_s"), (int, float)):
            time.sleep(seconds)  # noqa: ASYNC251  # That is what is tested.
        return {"pid": os.getpid()}
