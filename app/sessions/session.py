"""One agent's side of a game: steps in order, each answered once."""

import asyncio
from collections import OrderedDict
from enum import StrEnum
from typing import ClassVar, Final, Literal, Protocol

from app.errors import BadPayloadError, SeqGapError, StaleSeqError
from app.types import Purpose, SessionId, Version
from app.wire.steps import Body, Json, JsonBody, StepReply, parse_json

REPLIES_KEPT: Final = 8
"""Newest replies that a retry with the same sequence number gets again."""

Payload = Json | bytes
"""What an agent reads and writes: a JSON value, or bytes where its codec says so."""


class EndCause(StrEnum):
    """Why an episode is over."""

    STOP = "stop"
    """The game core said so."""
    IDLE = "idle"
    """No step came for too long."""
    RESTARTED = "restarted"
    """The game core started the session anew."""
    SHUTDOWN = "shutdown"
    """The service goes away."""


class SessionAgent(Protocol):
    """What a session needs of the agent behind it."""

    codec: ClassVar[Literal["json", "bytes"]]
    version: Version | None
    """Weights behind the last answer; None where no model was asked."""

    async def on_start(self, options: Payload) -> Payload:
        """Begins an episode."""

    async def on_tick(self, payload: Payload) -> Payload:
        """Answers one tick."""

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        """Ends the episode; the payload is None unless the game core stopped it."""


class Session:
    """State of one session; its lock keeps its steps in order of arrival."""

    __slots__ = ("_replies", "agent", "id", "lock", "purpose", "seq", "started", "ticks_key", "used_at_s")

    def __init__(self, session_id: SessionId, agent: SessionAgent, purpose: Purpose, now_s: float) -> None:
        self.id = session_id
        self.agent = agent
        self.purpose = purpose
        self.ticks_key = f"ticks_{purpose}"
        """Name of the counter of its ticks."""
        self.lock = asyncio.Lock()
        self.seq = 0
        """Steps answered since the start."""
        self.started = StepReply(session_id, b"", 0)
        """Reply to the start, for a retry of it."""
        self.used_at_s = now_s
        self._replies: OrderedDict[int, StepReply] = OrderedDict()

    def idle_since(self, then_s: float) -> bool:
        """Returns whether no step ran since ``then_s``; a running step counts as use."""
        return not self.lock.locked() and self.used_at_s <= then_s

    def replayed(self, seq: int | None) -> StepReply | None:
        """Returns the reply that this sequence number has had already; None where it is the next one.

        Raises:
          StaleSeqError: The reply is no longer kept.
          SeqGapError: An earlier step is missing.
        """
        if seq is None or seq == self.seq + 1:
            return None
        if seq > self.seq:
            raise SeqGapError(f"seq is {seq}; session {self.id!r} expects {self.seq + 1}")
        if seq not in self._replies:
            raise StaleSeqError(f"seq is {seq}; of session {self.id!r} only the replies after it are kept")
        return self._replies[seq]

    async def tick(self, body: Body) -> StepReply:
        """Returns the agent's answer."""
        return self._answered(await self.agent.on_tick(payload_of(self.agent, body)))

    async def start(self, body: Body) -> StepReply:
        """Begins the episode."""
        self.started = self._reply(await self.agent.on_start(payload_of(self.agent, body)))
        return self.started

    async def stop(self, body: Body) -> StepReply:
        """Ends the episode as the game core says."""
        return self._answered(await self.agent.on_episode(payload_of(self.agent, body), EndCause.STOP))

    async def close(self, cause: EndCause) -> None:
        """Ends the episode from our side."""
        await self.agent.on_episode(None, cause)

    def _answered(self, payload: Payload) -> StepReply:
        self.seq += 1
        reply = self._reply(payload)
        self._replies[self.seq] = reply
        if len(self._replies) > REPLIES_KEPT:
            self._replies.popitem(last=False)
        return reply

    def _reply(self, payload: Payload) -> StepReply:
        body = payload if isinstance(payload, bytes) else JsonBody(payload)
        return StepReply(self.id, body, self.seq, self.agent.version)


def payload_of(agent: SessionAgent, body: Body) -> Payload:
    """Returns the body as the agent reads it.

    Raises:
      BadPayloadError: The agent's codec cannot read it.
    """
    if agent.codec == "json":
        return body.value if isinstance(body, JsonBody) else parse_json(body)
    if isinstance(body, JsonBody):
        if body.value is None:
            return b""
        raise BadPayloadError("this agent reads bytes; send them as body_b64")
    return body
