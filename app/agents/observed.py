"""A player and the agents that look over its shoulder."""

import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from app.sessions.session import EndCause, SessionAgent
from app.types import SessionId, Version
from app.wire.payload import Codec, Payload
from app.wire.trees import Tree

_log = logging.getLogger(__name__)


class Observed:
    """Answers as the player does; observers see each tick after its answer is made, and cannot spoil it."""

    def __init__(
        self, player: SessionAgent, observers: Sequence[SessionAgent], session: SessionId, counts: Counter[str]
    ) -> None:
        """Makes one agent of several.

        Args:
          player: Whose answers count.
          observers: Who see what it sees.
          session: Its id.
          counts: Where failures of observers are counted.
        """
        self._player = player
        self._observers = observers
        self._session = session
        self._counts = counts
        self._failed = False

    def payloads(self) -> Codec:
        """Returns the player's."""
        return self._player.payloads()

    @property
    def version(self) -> Version | None:
        """Returns the weights behind the player's last answer."""
        return self._player.version

    async def on_start(self, options: Payload) -> Payload:
        """Begins the episode for all."""
        answer = await self._player.on_start(options)
        await self._observe(lambda observer: observer.on_start(options))
        return answer

    async def on_tick(self, payload: Payload) -> Payload:
        """Returns the player's answer."""
        answer = await self._player.on_tick(payload)
        await self._observe(lambda observer: observer.on_tick(payload))
        return answer

    def on_deadline(self, payload: Payload) -> Payload:
        """Returns the player's answer to a tick whose time is up."""
        return self._player.on_deadline(payload)

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        """Ends the episode for all."""
        answer = await self._player.on_episode(payload, cause)
        await self._observe(lambda observer: observer.on_episode(payload, cause))
        return answer

    def on_resume(self, missed: int | None) -> None:
        """Tells all that ticks are missing."""
        for agent in (self._player, *self._observers):
            agent.on_resume(missed)

    def state_dict(self) -> Tree:
        """Returns the states of all."""
        return [agent.state_dict() for agent in (self._player, *self._observers)]

    async def load_state_dict(self, state: Tree) -> None:
        """Takes over the states of all."""
        states = state if isinstance(state, list) else []
        for agent, its_state in zip((self._player, *self._observers), states, strict=True):
            await agent.load_state_dict(its_state)

    async def _observe(self, see: Callable[[SessionAgent], Coroutine[Any, Any, Payload]]) -> None:
        for observer in self._observers:
            try:
                await see(observer)
            except Exception:  # noqa: BLE001  # The user's observer may raise anything; the game goes on without it.
                self._counts["observer_errors"] += 1
                if not self._failed:
                    self._failed = True
                    _log.exception("observer %s of session %r failed", type(observer).__name__, self._session)
