"""What a user writes: the decision logic of one side of a game."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from app.agents.unroll import Unroll
from app.models.queue import Model
from app.sessions.session import EndCause, Payload
from app.types import Purpose, SessionId, Version


@dataclass(frozen=True, slots=True)
class AgentContext:
    """What the service gives to an agent."""

    session: SessionId
    purpose: Purpose
    rng: random.Random
    """The session's own generator."""
    model: Model | None
    """Model that the config names; None where it names none."""
    unroll: Unroll | None
    """Where ticks become trajectories; None where nothing is recorded."""
    report: Callable[[float, int], None]
    """Reports a finished episode: return and ticks."""


class Agent(ABC):
    """One side of one game, from ``on_start`` to ``on_episode``; made anew for each episode."""

    codec: ClassVar[Literal["json", "bytes"]] = "json"
    """``json``: payloads are parsed JSON values; ``bytes``: they are left as they came."""

    def __init__(self, context: AgentContext) -> None:
        self.context = context
        self.version: Version | None = None
        """Weights behind the last answer; None where no model was asked."""

    async def on_start(self, options: Payload) -> Payload:
        """Begins an episode and returns what the game core is told.

        Args:
          options: What the game core sent with the start; None where nothing.
        """
        return None

    @abstractmethod
    async def on_tick(self, payload: Payload) -> Payload:
        """Returns the answer to one tick."""

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        """Ends the episode and returns what the game core is told.

        Args:
          payload: What the game core sent with the stop; None where the service ended the episode.
          cause: Why it is over.
        """
        return None
