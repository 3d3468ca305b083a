"""An agent that plays one released version, and what becomes of it."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, cast

from app.agents.agent import Agent, AgentContext, version_of_text, version_text
from app.errors import AgentError, ModelMismatchError, StepError, VersionRefusedError
from app.models.released import SessionModel
from app.releases.statistics import Cohort, Statistics
from app.sessions.session import EndCause
from app.types import Version
from app.wire.payload import Codec, Payload
from app.wire.trees import Tree

Count = Callable[[Cohort, Statistics], None]
"""Adds to what the sessions of a cohort did."""

_log = logging.getLogger(__name__)


class ReleasedAgent(Agent):
    """Answers as the agent inside does; counts for its version, which moves along with the game.

    A session that asks for a version of its own choice counts for none.
    """

    def __init__(self, context: AgentContext, inner: Agent, model: SessionModel, count: Count) -> None:
        """Makes the agent of one session.

        Args:
          context: The session's.
          inner: Who answers.
          model: What it asks.
          count: Where its deeds are counted.
        """
        super().__init__(context)
        self._inner = inner
        self._model = model
        self._count = count

    def payloads(self) -> Codec:
        """Returns the inner agent's."""
        return self._inner.payloads()

    async def on_start(self, options: Payload) -> Payload:
        """Begins the episode."""
        answer = await self._inner.on_start(options)
        self._did(Statistics(starts=1))
        return answer

    async def on_tick(self, payload: Payload) -> Payload:
        """Returns the inner agent's answer."""
        try:
            answer = await self._inner.on_tick(payload)
        except asyncio.CancelledError:
            self._did(Statistics(ticks=1, deadline_misses=1))
            raise
        except Exception as error:
            if isinstance(error, AgentError) or not isinstance(error, StepError):  # Else it is the game core's fault.
                self._did(Statistics(ticks=1, errors=1))
            raise
        finally:
            self.version = self._inner.version
        self._did(Statistics(ticks=1))
        return answer

    def on_deadline(self, payload: Payload) -> Payload:
        """Returns the inner agent's answer to a tick whose time is up."""
        return self._inner.on_deadline(payload)

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        """Ends the episode."""
        answer = await self._inner.on_episode(payload, cause)
        self._model.close()
        return answer

    def on_resume(self, missed: int | None) -> None:
        """Tells the inner agent that ticks are missing."""
        self._inner.on_resume(missed)

    def state_dict(self) -> Tree:
        """Returns the inner agent's state, and what it plays."""
        return {
            "release": version_text(self._model.version),
            "challenger": version_text(self._model.challenger),
            "agent": self._inner.state_dict(),
        }

    async def load_state_dict(self, state: Tree) -> None:
        """Takes over an episode with its version; where that is gone, the game goes on with the one of new games."""
        held = cast("dict[str, Any]", state)
        if not isinstance(state, dict) or "release" not in held:  # It began before the model was released.
            await self._inner.load_state_dict(state)
            return
        version = Version.parse(held["release"])
        try:
            await self._model.resume(version, version_of_text(held["challenger"]))
        except (ModelMismatchError, VersionRefusedError) as error:
            _log.warning("session %r goes on with %s: %s", self.context.session, self._model.version, error)
        await self._inner.load_state_dict(held["agent"])
        self.version = self._inner.version

    def _did(self, what: Statistics) -> None:
        if self._model.cohort is not None:
            self._count(self._model.cohort, what)
