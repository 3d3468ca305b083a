"""Games that are really played, by a policy of two numbers and two choices, and recorded."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
from torch import nn

from app.agents.agent import Agent, AgentContext
from app.agents.game_log import About, GameLog, Memory, Played
from app.agents.gym_agent import GymAgent
from app.agents.recorded_agent import RecordedAgent, RecordedModel
from app.agents.recording import Recording
from app.models.placement import LocalModel
from app.models.torch_engine import TorchEngine
from app.recordings.files import write_table
from app.recordings.privacy import Privacy
from app.recordings.table import table
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.ids import game_of
from app.sessions.limits import Limits
from app.sessions.session import SessionAgent
from app.sessions.table import SessionTable
from app.types import Arrays, Purpose, SessionId, StepKind, Version
from app.wire.steps import StepReply, StepRequest
from tests.small_policy import TablePolicy

LOGITS = (0.0, 1.0)


class Service:
    """A session table whose games are noted, as a replica's are."""

    def __init__(
        self,
        *,
        keep: str | None = "every",
        agent: type[Agent] = GymAgent,
        network: nn.Module | None = None,
        **bounds: Any,
    ) -> None:
        """Plays with ``TablePolicy``, or with another network.

        Args:
          keep: Why each session is kept from its start; None: it is not.
          agent: Who plays.
          network: Whom it asks; None: a table.
          bounds: Of the logs.
        """
        self.played: list[Played] = []
        self.logs: dict[SessionId, GameLog] = {}
        self.model = LocalModel(TorchEngine(network or TablePolicy(LOGITS)), _no_weights)
        self.memory = Memory(64)
        self._keep, self._agent, self._bounds = keep, agent, {"part_ticks": 100} | bounds
        clock = asyncio.get_running_loop().time
        self.counts: Counter[str] = Counter()
        limits = Limits(max_games=100, idle_timeout_s=1000, step_timeout_s=20)
        self.table = SessionTable(self._make, limits, Purpose.TRAIN, lambda: "minted", clock, self.counts)

    async def step(self, kind: StepKind, session: SessionId, value: Any = None, **more: Any) -> StepReply:
        """Sends a JSON value."""
        body = b"" if value is None else orjson.dumps(value)
        return await self.table.step(StepRequest(session, kind, body, **more))

    async def start(self, session: SessionId = "g-agent-player", options: Any = None) -> StepReply:
        return await self.step(StepKind.START, session, options)

    async def tick(self, number: float, session: SessionId = "g-agent-player", **more: Any) -> StepReply:
        value = {"observation": [number, -number], "reward": number} | more
        return await self.step(StepKind.TICK, session, value)

    async def stop(self, number: float, session: SessionId = "g-agent-player", **more: Any) -> StepReply:
        value = {"observation": [number, -number], "reward": number, "terminated": True} | more
        return await self.step(StepKind.STOP, session, value)

    async def game(self, ticks: int, session: SessionId = "g-agent-player") -> None:
        """Plays a whole game; the n-th observation is [n, -n] and earns n."""
        await self.start(session)
        for number in range(ticks):
            await self.tick(number, session)
        await self.stop(ticks, session)

    def write(self, path: Path, privacy: Privacy | None = None, renders: str = "{}") -> Path:
        """Writes what was played."""
        about = {"agent": "player", "codec": "json", "renders": renders}
        write_table(path, table(self.played, self.model.spec, privacy or Privacy(), about))
        return path

    def _make(self, session: SessionId, purpose: Purpose, board: Board) -> SessionAgent:
        rng = Draws(7)
        log = GameLog(
            About(session, game_of(session), "player", purpose, 7),
            rng,
            self.played.append,
            memory=self.memory,
            clock=lambda: 1000.0 + len(self.logs),
            **self._bounds,
        )
        if self._keep is not None:
            log.keep(self._keep)
        self.logs[session] = log
        model = RecordedModel(self.model, log)
        unroll = Recording(3, log)
        agent = self._agent(AgentContext(session, purpose, rng, model, unroll, lambda *_: None, board))
        return RecordedAgent(agent, log, payloads=True)


async def write_games(path: Path, ticks: Sequence[int]) -> Path:
    """Writes a file of games of so many ticks, and returns its path."""
    service = Service()
    for number, count in enumerate(ticks):
        await service.game(count, f"g{number}-agent-player")
    return service.write(path)


async def _no_weights(version: Version) -> Arrays:
    raise LookupError(f"nobody keeps {version}")
