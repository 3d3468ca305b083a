"""An agent whose steps are noted, and its model."""

import time
from collections.abc import Awaitable, Coroutine
from typing import Any, Final

import orjson
from google.protobuf.message import Message
from pydantic import BaseModel

from app.agents.game_log import Entry, Event, GameLog
from app.errors import AgentError, StepError
from app.models.around import ModelAround
from app.models.model import Model
from app.models.question import Decision, Question
from app.sessions.session import EndCause, SessionAgent
from app.types import StepKind, Version
from app.wire.payload import Codec, Payload
from app.wire.steps import body_bytes
from app.wire.trees import Tree

GAME_LOG: Final = "game_log"
"""Where the state of a recorded agent keeps that of its log."""
MS: Final = 1000


class RecordedModel(ModelAround):
    """A model whose decisions are noted."""

    def __init__(self, model: Model, log: GameLog) -> None:
        super().__init__(model)
        self._log = log

    def decide(self, question: Question) -> Awaitable[Decision]:
        """Returns the decision to come; see ``Model``."""
        return self._decided(question) if self._log.active else self._model.decide(question)

    async def _decided(self, question: Question) -> Decision:
        question.explains = True
        began_s = time.perf_counter()
        decision = await self._model.decide(question)
        self._log.decided(question, decision, MS * (time.perf_counter() - began_s))
        return decision


class RecordedAgent:
    """Answers as the agent inside does; what comes and goes is noted while the log is active."""

    def __init__(self, agent: SessionAgent, log: GameLog, *, payloads: bool) -> None:
        """Wraps an agent.

        Args:
          agent: Who answers.
          log: Of its session.
          payloads: Whether what comes and goes is noted as bytes.
        """
        self._agent = agent
        self._log = log
        self._payloads = payloads
        self._codec = agent.payloads()
        self._now: Entry | None = None

    def payloads(self) -> Codec:
        """Returns the agent's."""
        return self._codec

    @property
    def version(self) -> Version | None:
        """Returns the weights behind the last answer."""
        return self._agent.version

    async def on_start(self, options: Payload) -> Payload:
        """Begins the episode."""
        if not self._log.active:
            return await self._agent.on_start(options)
        return await self._noted(Event.START, options, self._agent.on_start(options))

    def on_tick(self, payload: Payload) -> Coroutine[Any, Any, Payload]:
        """Returns the answer to come."""
        if self._log.active:
            return self._noted(Event.TICK, payload, self._agent.on_tick(payload))
        self._log.passed()
        return self._agent.on_tick(payload)

    def on_deadline(self, payload: Payload) -> Payload:
        """Returns the agent's answer to a tick whose time is up."""
        answer = self._agent.on_deadline(payload)
        if self._now is not None:
            self._note_answer(self._now, answer, StepKind.TICK)
        return answer

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        """Ends the episode, which is then written; a stop that is refused may be repeated."""
        asked = self._agent.on_episode(payload, cause)
        if not self._log.active:
            return await asked
        event = Event.STOP if cause is EndCause.STOP else Event.END
        try:
            return await self._noted(event, payload, asked, cause.value)
        except BaseException as error:
            if event is Event.END or not isinstance(error, StepError):
                self._log.end()
            raise

    def on_resume(self, missed: int | None) -> None:
        """Tells the agent that ticks are missing."""
        self._log.skip(missed)
        self._agent.on_resume(missed)

    def state_dict(self) -> Tree:
        """Returns the agent's state and what is noted."""
        return {GAME_LOG: self._log.state_dict(), "agent": self._agent.state_dict()}

    async def load_state_dict(self, state: Tree) -> None:
        """Takes over an episode; one that began unrecorded goes on as such."""
        if isinstance(state, dict) and GAME_LOG in state:
            self._log.load_state_dict(state[GAME_LOG])
            state = state["agent"]
        await self._agent.load_state_dict(state)

    async def _noted(
        self, event: Event, payload: Payload, asked: Coroutine[Any, Any, Payload], cause: str | None = None
    ) -> Payload:
        entry = self._now = self._log.begin(event, _written(payload) if self._payloads else None)
        entry.cause = cause
        began_s = time.perf_counter()
        try:
            answer = await asked
        except BaseException as error:
            code = error.code if isinstance(error, StepError) else type(error).__name__
            entry.error = f"{code}: {error}".rstrip(": ")
            raise
        finally:
            entry.agent_ms = MS * (time.perf_counter() - began_s)
        self._note_answer(entry, answer, _kind(event))
        if event in (Event.STOP, Event.END):
            self._log.end()
        return answer

    def _note_answer(self, entry: Entry, answer: Payload, kind: StepKind) -> None:
        entry.version = None if self._agent.version is None else str(self._agent.version)
        self._log.answered(entry)
        if not self._payloads or answer is None:
            return
        try:
            entry.output = body_bytes(self._codec.encode(answer, kind))
        except AgentError as error:  # The session meets the same one, and tells the game core.
            entry.error = f"{error.code}: {error}"


def _kind(event: Event) -> StepKind:
    return {Event.START: StepKind.START, Event.TICK: StepKind.TICK}.get(event, StepKind.STOP)


def _written(payload: Payload) -> bytes | None:
    """Returns what came as bytes, now: the agent may change it."""
    if payload is None or isinstance(payload, bytes):
        return payload
    if isinstance(payload, Message):
        return payload.SerializeToString()
    if isinstance(payload, BaseModel):
        return payload.model_dump_json(exclude_unset=True).encode()
    return orjson.dumps(payload)
