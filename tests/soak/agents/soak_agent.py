"""An agent whose answers tell whose they are, and whether a tick was lost or played twice."""

from app.agents.agent import Agent, AgentContext
from app.wire.payload import Payload


class SoakAgent(Agent):
    """Answers its session, how many ticks it has seen, the sum of what they carried, and how many it has missed."""

    def __init__(self, context: AgentContext) -> None:
        super().__init__(context)
        self.ticks = 0
        self.total = 0
        self.missed = 0

    async def on_tick(self, payload: Payload) -> Payload:
        assert isinstance(payload, int)
        self.ticks += 1
        self.total += payload
        return {"session": self.context.session, "ticks": self.ticks, "total": self.total, "missed": self.missed}

    def on_resume(self, missed: int | None) -> None:
        assert missed is not None
        self.missed += missed
        self.ticks += missed
