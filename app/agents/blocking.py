"""Agents whose code blocks: plain functions, run in a pool of threads, one call of an agent at a time."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, cast

from app.agents.agent import NO_HYPERPARAMETERS, Agent, AgentContext
from app.agents.bridge import BlockingBoard, BlockingModel, on_loop
from app.agents.threads import Call, ThreadPool
from app.agents.unroll import Unroll
from app.errors import PluginError, SnapshotError
from app.seeding import Draws
from app.sessions.session import EndCause
from app.types import Purpose, SessionId, Version
from app.wire.payload import Codec, CodecKind, Payload, codec_of
from app.wire.trees import Tree


@dataclass(frozen=True, slots=True)
class BlockingContext:
    """What the service gives to a blocking agent; all of it may be used in its thread."""

    session: SessionId
    purpose: Purpose
    rng: Draws
    """The session's own random numbers."""
    model: BlockingModel | None
    """Model that the config names; None where it names none."""
    unroll: Unroll | None
    """Where ticks become trajectories; None where nothing is recorded."""
    report: Callable[[float, int], None]
    """Reports a finished episode: return and ticks."""
    board: BlockingBoard
    """Values that the agents of the game share within a frame."""
    measure: Callable[[str, float], None]
    """Reports a number for operators, as that of an ``AgentContext``."""
    hyperparameters: Mapping[str, float] = field(default_factory=lambda: NO_HYPERPARAMETERS)
    """Of the league's learning period, as those of an ``AgentContext``."""


class BlockingAgent(ABC):
    """One side of one game whose functions may block; no two of them run at a time.

    Its state travels as that of an ``Agent`` does: by default every attribute but ``context``.
    """

    codec: ClassVar[CodecKind] = "json"
    """What its payloads are, as of an ``Agent``."""

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

    def on_deadline(self, payload: Payload) -> Payload:
        """Returns the answer to a tick whose time is up.

        It is called on the event loop while ``on_tick`` may still run in its thread: it must not block, nor use what
        ``on_tick`` changes.

        Raises:
          NotImplementedError: The agent has no such answer; so it is unless a class says otherwise.
        """
        raise NotImplementedError

    def on_resume(self, missed: int | None) -> None:  # noqa: B027  # Most agents look at one tick at a time.
        """Learns that ticks are missing, as ``Agent.on_resume``; it must not block."""

    def state_dict(self) -> Tree:
        """Returns all that the next tick depends on; it must not block."""
        state = {name: value for name, value in vars(self).items() if name not in ("context", "version")}
        version = None if self.version is None else str(self.version)
        return {"rng": self.context.rng.count, "version": version, "attributes": state}

    def load_state_dict(self, state: Tree) -> None:
        """Takes over the state of another replica's agent; it must not block.

        Raises:
          SnapshotError: It is no state of such an agent.
        """
        if not isinstance(state, dict) or not isinstance(state.get("attributes"), dict):
            raise SnapshotError(f"the state of a {type(self).__name__} has attributes, got {type(state).__name__}")
        self.context.rng.count = cast("int", state["rng"])
        self.version = None if state["version"] is None else Version.parse(cast("str", state["version"]))
        vars(self).update(cast("dict[str, Tree]", state["attributes"]))


def check_blocking(agent_class: object, name: str, *, blocking: bool) -> None:
    """Does nothing where an agent's class is of the kind that its config says.

    Raises:
      PluginError: It blocks and the config says that it does not, or the other way round.
    """
    is_blocking = isinstance(agent_class, type) and issubclass(agent_class, BlockingAgent)
    if is_blocking != blocking:
        kind = "a BlockingAgent" if is_blocking else "no app.agents.blocking:BlockingAgent"
        raise PluginError(
            f"agent {name!r} is {getattr(agent_class, '__qualname__', agent_class)}, {kind}, and blocking is "
            f"{str(blocking).lower()}; allowed is blocking: {str(is_blocking).lower()}"
        )


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
        given = BlockingContext(
            session=context.session,
            purpose=context.purpose,
            rng=context.rng,
            model=model,
            unroll=context.unroll,
            report=on_loop(loop, context.report),
            board=BlockingBoard(context.board, loop),
            measure=on_loop(loop, context.measure),
            hyperparameters=context.hyperparameters,
        )
        self._agent = make(given)
        self._pool = pool
        self._last: Call[Payload] | None = None

    def payloads(self) -> Codec:
        """Returns what translates between bodies and the agent's payloads."""
        return codec_of(type(self._agent))

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

    def on_deadline(self, payload: Payload) -> Payload:
        """Returns the agent's answer to a tick whose time is up.

        Raises:
          NotImplementedError: The agent has no such answer.
        """
        return self._agent.on_deadline(payload)

    def on_resume(self, missed: int | None) -> None:
        """Tells the agent that ticks are missing."""
        self._agent.on_resume(missed)

    def state_dict(self) -> Tree:
        """Returns the agent's state.

        Raises:
          SnapshotError: A call that was given up still runs, so that its state is not whole.
        """
        if self._last is not None and not self._last.done.done():
            raise SnapshotError(f"the state is not whole while a call runs: {self._last}")
        return self._agent.state_dict()

    async def load_state_dict(self, state: Tree) -> None:
        """Gives the agent the state of another replica's.

        Raises:
          SnapshotError: It is no state of such an agent.
        """
        self._agent.load_state_dict(state)
        self.version = self._agent.version

    async def _run(self, name: str, function: Callable[[], Payload]) -> Payload:
        if self._last is not None:
            await self._pool.ended(self._last)
        call = self._last = self._pool.submit(
            f"{type(self._agent).__name__}.{name} of session {self.context.session!r}",
            partial(copy_context().run, function),  # So that the step's time goes with it.
        )
        answer = await self._pool.result(call)
        self.version = self._agent.version
        return answer
