"""Agents whose code blocks: plain functions, run in a pool of threads, one call of an agent at a time."""

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, Literal, ParamSpec, TypeVar

from app.agents.agent import Agent, AgentContext
from app.agents.threads import Call, ThreadPool
from app.agents.unroll import Unroll
from app.errors import DeadlineExceededError
from app.models.queue import Decision, Model, Question
from app.sessions.session import EndCause, Payload
from app.types import Purpose, SessionId, Version

P = ParamSpec("P")
T = TypeVar("T")

MODEL_TIMEOUT_S: Final = 10.0
"""Longest wait of a thread for the model."""


class BlockingModel:
    """A model as code in a thread asks it."""

    def __init__(self, model: Model, loop: asyncio.AbstractEventLoop) -> None:
        self.spec = model.spec
        self._model = model
        self._loop = loop

    def decide(self, question: Question) -> Decision:
        """Returns the decision for one observation; not to be called on the event loop.

        Raises:
          DeadlineExceededError: The model does not answer.
          StepError: The model's own.
        """
        return _asked(self._loop, self._decide(question), "the model")

    def ensure(self, version: Version | None) -> Version:
        """Makes a version answerable until it is released, and returns it; None means the newest one.

        Raises:
          DeadlineExceededError: The model does not answer.
          ModelMismatchError: The version is no longer kept.
        """
        return _asked(self._loop, self._model.ensure(version), "the model")

    def release(self, version: Version) -> None:
        """Lets a version go that ``ensure`` returned."""
        self._loop.call_soon_threadsafe(self._model.release, version)

    async def _decide(self, question: Question) -> Decision:
        return await self._model.decide(question)


@dataclass(frozen=True, slots=True)
class BlockingContext:
    """What the service gives to a blocking agent; all of it may be used in its thread."""

    session: SessionId
    purpose: Purpose
    rng: random.Random
    """The session's own generator."""
    model: BlockingModel | None
    """Model that the config names; None where it names none."""
    unroll: Unroll | None
    """Where ticks become trajectories; None where nothing is recorded."""
    report: Callable[[float, int], None]
    """Reports a finished episode: return and ticks."""


class BlockingAgent(ABC):
    """One side of one game whose functions may block; no two of them run at a time."""

    codec: ClassVar[Literal["json", "bytes"]] = "json"
    """``json``: payloads are parsed JSON values; ``bytes``: they are left as they came."""

    def __init__(self, context: BlockingContext) -> None:
        self.context = context
        self.version: Version | None = None
        """Weights behind the last answer; None where no model was asked."""

    def on_start(self, options: Payload) -> Payload:
        """Begins an episode and returns what the game core is told."""
        return None

    @abstractmethod
    def on_tick(self, payload: Payload) -> Payload:
        """Returns the answer to one tick."""

    def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        """Ends the episode and returns what the game core is told."""
        return None


class Offloaded(Agent):
    """Lets a session speak to a blocking agent without waiting on the event loop.

    A call whose step was given up runs on: the agent's next call waits for it, so that its state is never in two
    hands.
    """

    def __init__(
        self, context: AgentContext, make: Callable[[BlockingContext], BlockingAgent], pool: ThreadPool
    ) -> None:
        """Makes the agent, on the loop: its constructor must not block.

        Args:
          context: The session's context; where its unroll emits is called in the thread (see ``on_loop``).
          make: The agent's class, with its keyword arguments.
          pool: Threads that the replica's blocking agents share.
        """
        super().__init__(context)
        loop = asyncio.get_running_loop()
        model = None if context.model is None else BlockingModel(context.model, loop)
        report = on_loop(loop, context.report)
        self._agent = make(
            BlockingContext(context.session, context.purpose, context.rng, model, context.unroll, report)
        )
        self.codec = self._agent.codec  # type: ignore[misc]  # As the agent inside says.
        self._pool = pool
        self._last: Call[Payload] | None = None

    async def on_start(self, options: Payload) -> Payload:
        """Begins an episode in a thread.

        Raises:
          StepError: No thread is free, or the agent took too long.
        """
        return await self._run("on_start", partial(self._agent.on_start, options))

    async def on_tick(self, payload: Payload) -> Payload:
        """Answers one tick from a thread.

        Raises:
          StepError: No thread is free, or the agent took too long.
        """
        return await self._run("on_tick", partial(self._agent.on_tick, payload))

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        """Ends the episode in a thread.

        Raises:
          StepError: No thread is free, or the agent took too long.
        """
        return await self._run("on_episode", partial(self._agent.on_episode, payload, cause))

    async def _run(self, name: str, function: Callable[[], Payload]) -> Payload:
        if self._last is not None:
            await self._pool.ended(self._last)
        call = self._last = self._pool.submit(
            f"{type(self._agent).__name__}.{name} of session {self.context.session!r}", function
        )
        answer = await self._pool.result(call)
        self.version = self._agent.version
        return answer


def _asked(loop: asyncio.AbstractEventLoop, question: Coroutine[object, object, T], whom: str) -> T:
    """Returns what a coroutine returns that runs on the loop while this thread waits."""
    answer = asyncio.run_coroutine_threadsafe(question, loop)
    try:
        return answer.result(MODEL_TIMEOUT_S)
    except TimeoutError as error:
        answer.cancel()
        raise DeadlineExceededError(f"{whom} did not answer within {MODEL_TIMEOUT_S:g} s") from error
    except CancelledError as error:  # The loop ends.
        raise DeadlineExceededError(f"{whom} was gone before it answered") from error


def on_loop(loop: asyncio.AbstractEventLoop, function: Callable[P, object]) -> Callable[P, None]:
    """Returns a function for threads that calls another on the event loop, soon, and forgets what it returns."""

    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        loop.call_soon_threadsafe(partial(function, *args, **kwargs))

    return call
