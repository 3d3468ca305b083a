"""An agent whose answers tell whose they are, and whether a tick was lost or played twice."""

from typing import Any

from counting_agent import CountingAgent

from app.wire.payload import Payload


class SoakAgent(CountingAgent):
    """Answers its session as well."""

    async def on_tick(self, payload: Payload) -> Payload:
        counted: Any = await super().on_tick(payload)
        return {"session": self.context.session, **counted}
