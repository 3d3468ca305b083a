"""Plays sessions of one agent in this process, without a service, and keeps what came and went."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, cast

from app.agents.agent import Agent, AgentContext
from app.agents.blocking import BlockingAgent, BlockingContext, Offloaded, check_blocking
from app.agents.game_log import About, GameLog, Played
from app.agents.recorded_agent import RecordedAgent, RecordedModel
from app.agents.recording import Recording
from app.agents.threads import ThreadPool
from app.config.serving import AgentConfig, Threads
from app.errors import SparringError
from app.models.placement import LocalModel
from app.models.torch_engine import TorchEngine
from app.plugins import load_plugin
from app.seeding import Draws, derive
from app.sessions.blackboard import Board
from app.sessions.ids import game_of
from app.sessions.limits import Limits
from app.sessions.session import SessionAgent
from app.sessions.table import SessionTable
from app.types import Arrays, Purpose, SessionId, StepKind, Version
from app.wire.steps import StepReply, StepRequest
from app.wire.trees import pack, unpack
from train.trying.report import MS

STEP_TIMEOUT_S: Final = 10.0
IDLE_S: Final = 3600.0
PART_TICKS: Final = 10_000


@dataclass(slots=True)
class Tried:
    """What was played."""

    played: list[Played] = field(default_factory=list)
    ticks_ms: list[float] = field(default_factory=list)
    """Of each tick that was answered."""
    answers: list[bytes] = field(default_factory=list)
    """The first one of each session."""
    errors: Counter[str] = field(default_factory=Counter)
    """Steps that failed, by their messages."""
    seconds: float = 0.0


class Player:
    """Sessions of one agent."""

    def __init__(self, name: str, agent: AgentConfig, engine: TorchEngine | None, seed: int) -> None:
        """Imports the agent.

        Args:
          name: Of the agent.
          agent: Its config.
          engine: Its model; None where it has none.
          seed: All random numbers derive from it.

        Raises:
          PluginError: The agent cannot be imported.
          ConfigError: It blocks and the config does not say so, or the other way round.
        """
        self.kind: Any = load_plugin(agent.factory)
        check_blocking(self.kind, name, blocking=agent.blocking)
        self._name, self._agent, self._seed = name, agent, seed
        self._model = None if engine is None else LocalModel(engine, _no_weights)
        self._agents: list[SessionAgent] = []
        self.tried = Tried()

    async def play(self, bodies: Sequence[Iterator[bytes]], stop: bytes) -> Tried:
        """Plays sessions one after another, a tick for each of their bodies, and returns what came of it.

        Args:
          bodies: Ticks of each session.
          stop: Body of each stop.
        """
        threads = Threads()
        pool = ThreadPool(threads.count, threads.max_waiting, STEP_TIMEOUT_S) if self._agent.blocking else None
        try:
            limits = Limits(max_games=len(bodies), idle_timeout_s=IDLE_S, step_timeout_s=STEP_TIMEOUT_S)
            clock = asyncio.get_running_loop().time
            make = partial(self._make, pool)
            table = SessionTable(make, limits, Purpose.TRAIN, lambda: "tried", clock, Counter())
            began_s = time.perf_counter()
            for number, ticks in enumerate(bodies):
                await self._session(table, f"try{number}-agent-{self._name}", ticks, stop)
            self.tried.seconds = time.perf_counter() - began_s
        finally:
            if pool is not None:
                await pool.close()
        return self.tried

    async def _session(self, table: SessionTable, session: SessionId, ticks: Iterator[bytes], stop: bytes) -> None:
        if await self._step(table, StepRequest(session, StepKind.START, b"")) is None:
            return
        first = True
        for body in ticks:
            began_s = time.perf_counter()
            reply = await self._step(table, StepRequest(session, StepKind.TICK, body))
            if reply is not None:
                self.tried.ticks_ms.append(MS * (time.perf_counter() - began_s))
                self.tried.answers += [reply.body] if first else []
                first = False
        self._check_state()
        await self._step(table, StepRequest(session, StepKind.STOP, stop))

    def _check_state(self) -> None:
        """Notes where the agent could not move to another replica now."""
        try:
            unpack(pack(self._agents[-1].state_dict()))
        except Exception as error:  # noqa: BLE001  # The user's agent may raise anything.
            self.tried.errors[f"state_dict: {type(error).__name__}: {error}"] += 1

    async def _step(self, table: SessionTable, request: StepRequest) -> StepReply | None:
        try:
            return await table.step(request)
        except SparringError as error:
            cause = error.__cause__
            why = "" if cause is None else f" ({type(cause).__name__}: {cause})"
            self.tried.errors[f"{request.kind}: {error}{why}"] += 1
            return None

    def _make(self, pool: ThreadPool | None, session: SessionId, purpose: Purpose, board: Board) -> SessionAgent:
        seed = derive(self._seed, session)
        rng = Draws(seed)
        log = GameLog(
            About(session, game_of(session), self._name, purpose, seed), rng, self.tried.played.append,
            part_ticks=PART_TICKS,
        )  # fmt: skip
        log.keep("every")
        model = None if self._model is None else RecordedModel(self._model, log)
        unroll = None if model is None else Recording(1, log)
        context = AgentContext(session, purpose, rng, model, unroll, lambda *_: None, board)
        self._agents.append(RecordedAgent(self._made(context, pool), log, payloads=True))
        return self._agents[-1]

    def _made(self, context: AgentContext, pool: ThreadPool | None) -> Agent:
        made = partial(self.kind, **self._agent.kwargs)
        if pool is None:
            return cast("Callable[[AgentContext], Agent]", made)(context)
        return Offloaded(context, cast("Callable[[BlockingContext], BlockingAgent]", made), pool)


async def _no_weights(version: Version) -> Arrays:
    raise LookupError(f"nobody keeps {version}")
