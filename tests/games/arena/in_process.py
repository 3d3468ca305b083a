"""The arena's agents behind a real session table and a real network, without a service around them."""

from collections import Counter
from itertools import count

from app.agents.agent import Agent, AgentContext
from app.agents.unroll import Row, Unroll
from app.games.arena.agents import ArenaAgent, BossAgent, ObserverAgent
from app.models.module import build_module, to_arrays
from app.models.placement import LocalModel
from app.models.torch_engine import TorchEngine
from app.seeding import Draws, derive
from app.sessions.blackboard import Board
from app.sessions.ids import agent_of
from app.sessions.limits import Limits
from app.sessions.table import SessionTable
from app.types import Arrays, Purpose, SessionId, StepKind, Version
from app.wire.steps import StepRequest, body_bytes

CLASSES: dict[str, type[Agent]] = {"bosses": BossAgent, "observer": ObserverAgent}


class ArenaService:
    """Answers steps as an actor replica would."""

    def __init__(self, purpose: Purpose = Purpose.TRAIN) -> None:
        module = build_module("app.games.arena.model:build", {}, seed=0)
        engine = TorchEngine(module)
        engine.load(Version(1, 1), to_arrays(module))
        self.model = LocalModel(engine, _no_weights)
        self.trajectories: list[list[Row]] = []
        self.reports: list[tuple[float, int]] = []
        self.counts: Counter[str] = Counter()
        self.purpose = purpose
        self.classes = CLASSES
        self._episodes = count(1)
        limits = Limits(100, idle_timeout_s=60, step_timeout_s=20)
        minted = count()
        self.table = SessionTable(self.agent, limits, purpose, lambda: f"s{next(minted)}", lambda: 0.0, self.counts)

    def agent(self, session: SessionId, purpose: Purpose, board: Board) -> Agent:
        unroll = Unroll(next(self._episodes), None, self.trajectories.append) if purpose is Purpose.TRAIN else None
        context = AgentContext(
            session=session,
            purpose=purpose,
            rng=Draws(derive(0, session)),
            model=self.model,
            unroll=unroll,
            report=lambda returned, ticks: self.reports.append((returned, ticks)),
            board=board,
        )
        return self.classes.get(agent_of(session) or "", ArenaAgent)(context)

    async def step(self, session: str, kind: str, seq: int, body: bytes) -> bytes:
        reply = await self.table.step(StepRequest(session, StepKind(kind), body, self.purpose, seq))
        return body_bytes(reply.body)


async def _no_weights(version: Version) -> Arrays:
    raise LookupError(f"no weights {version} here")
