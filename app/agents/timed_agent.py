"""Where the time of one tick goes: to waiting, to the agent, or to its model."""

import time
from collections.abc import Awaitable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from app.models.around import ModelAround
from app.models.question import Decision, Question
from app.sessions.session import EndCause, SessionAgent
from app.types import Version
from app.wire.payload import Codec, Payload
from app.wire.trees import Tree


@dataclass(slots=True)
class TickParts:
    """The times of one tick, on the clock of ``time.perf_counter``."""

    begun_s: float
    """When it came."""
    agent_begun_s: float | None = None
    """When the agent took it up; None before."""
    agent_s: float = 0.0
    """How long the agent had it, its model included."""
    model_s: float = 0.0
    """How long the agent waited for its model."""

    def parts_ms(self, now_s: float) -> dict[str, float]:
        """Returns the milliseconds until now: in queues before the agent, in the agent, in its model, and behind it."""
        queue_s = (now_s if self.agent_begun_s is None else self.agent_begun_s) - self.begun_s
        agent_s = self.agent_s
        if self.agent_begun_s is not None and not agent_s:
            agent_s = now_s - self.agent_begun_s
        rest_s = max(0.0, now_s - self.begun_s - queue_s - agent_s)
        parts = {"queue": queue_s, "agent": agent_s - self.model_s, "model": self.model_s, "rest": rest_s}
        return {name: 1000 * part for name, part in parts.items()}


PRESENT: Final[ContextVar[TickParts | None]] = ContextVar("tick_times", default=None)
"""Times of the present task's tick; None where nobody wants them."""


class TimedModel(ModelAround):
    """A model whose answers are waited for on the clock of the present tick."""

    def decide(self, question: Question) -> Awaitable[Decision]:
        """Returns the decision to come; see ``Model``."""
        times = PRESENT.get()
        return self._model.decide(question) if times is None else self._timed(question, times)

    async def _timed(self, question: Question, times: TickParts) -> Decision:
        begun_s = time.perf_counter()
        try:
            return await self._model.decide(question)
        finally:
            times.model_s += time.perf_counter() - begun_s


class TimedAgent:
    """An agent whose ticks are timed."""

    def __init__(self, agent: SessionAgent) -> None:
        self._agent = agent

    def payloads(self) -> Codec:
        """Returns the agent's."""
        return self._agent.payloads()

    @property
    def version(self) -> Version | None:
        """Returns the weights behind the last answer."""
        return self._agent.version

    async def on_start(self, options: Payload) -> Payload:
        """Begins the episode."""
        return await self._agent.on_start(options)

    async def on_tick(self, payload: Payload) -> Payload:
        """Returns the agent's answer, and notes how long that has taken."""
        times = PRESENT.get()
        if times is None:
            return await self._agent.on_tick(payload)
        times.agent_begun_s = begun_s = time.perf_counter()
        try:
            return await self._agent.on_tick(payload)
        finally:
            times.agent_s = time.perf_counter() - begun_s

    def on_deadline(self, payload: Payload) -> Payload:
        """Returns the agent's answer to a tick whose time is up."""
        return self._agent.on_deadline(payload)

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        """Ends the episode."""
        return await self._agent.on_episode(payload, cause)

    def on_resume(self, missed: int | None) -> None:
        """Tells the agent that ticks are missing."""
        self._agent.on_resume(missed)

    def state_dict(self) -> Tree:
        """Returns the agent's state."""
        return self._agent.state_dict()

    async def load_state_dict(self, state: Tree) -> None:
        """Takes over an episode."""
        await self._agent.load_state_dict(state)
