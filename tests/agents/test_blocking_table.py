"""Blocking agents behind a session table."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import ClassVar, Final

import pytest

from app.agents.agent import Agent, AgentContext
from app.agents.blocking import BlockingAgent, BlockingContext, Offloaded, check_blocking
from app.agents.echo import EchoAgent
from app.agents.threads import ThreadPool
from app.errors import DeadlineExceededError, PluginError
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.sessions.limits import Limits
from app.sessions.snapshot import restore_session, save_session
from app.sessions.table import SessionTable
from app.types import Purpose, SessionId, StepKind
from app.wire.payload import Payload
from app.wire.steps import JsonBody, StepReply, StepRequest
from app.wire.trees import pack, unpack

TIMEOUT_S: Final = 20.0
HASTY_S: Final = 0.6


class Sleeper(BlockingAgent):
    """Blocks its thread for as long as a tick says, and counts its ticks."""

    entered: ClassVar[threading.Event]
    leave: ClassVar[threading.Event]
    """What a test holds: no part of the state."""

    def __init__(self, context: BlockingContext) -> None:
        super().__init__(context)
        self.ticks = 0

    def on_tick(self, payload: Payload) -> Payload:
        if payload == "for ever":
            self.entered.set()
            self.leave.wait(60)
        elif isinstance(payload, int | float):
            time.sleep(payload)
        self.ticks += 1
        return self.ticks


class Plain(Agent):
    async def on_tick(self, payload: Payload) -> Payload:
        return payload


class Replica:
    """A session table whose sessions block, but for those that begin with ``plain``."""

    def __init__(self, pool: ThreadPool, timeout_s: float = TIMEOUT_S) -> None:
        self.entered = Sleeper.entered = threading.Event()
        self.leave = Sleeper.leave = threading.Event()
        self._pool = pool
        limits = Limits(100, 60.0, timeout_s, 1.0, None)
        self.table = SessionTable(
            self._make, limits, Purpose.PLAY, lambda: "minted", asyncio.get_running_loop().time, Counter()
        )

    async def step(self, kind: StepKind, session: SessionId, value: Payload = None) -> StepReply:
        assert isinstance(value, str | int | float | None)
        return await self.table.step(StepRequest(session, kind, JsonBody(value)))

    def _make(self, session: SessionId, purpose: Purpose, board: Board) -> Agent:
        context = AgentContext(session, purpose, Draws(1), None, None, lambda *_: None, board)
        if session.startswith("plain"):
            return Plain(context)
        return Offloaded(context, Sleeper, self._pool)


@pytest.fixture
async def pool() -> AsyncIterator[ThreadPool]:
    threads = ThreadPool(2, 10, TIMEOUT_S)
    yield threads
    await threads.close()


@pytest.fixture
async def hasty_pool() -> AsyncIterator[ThreadPool]:
    threads = ThreadPool(2, 10, HASTY_S)
    yield threads
    await threads.close()


async def test_an_agent_that_blocks_does_not_delay_the_tick_of_another_session(pool: ThreadPool) -> None:
    replica = Replica(pool)
    for session in ("blocks", "plain"):
        await replica.step(StepKind.START, session)
    slow = asyncio.create_task(replica.step(StepKind.TICK, "blocks", "for ever"))
    assert await asyncio.to_thread(replica.entered.wait, TIMEOUT_S)
    for tick in range(20):
        assert (await replica.step(StepKind.TICK, "plain", tick)).body == b"%d" % tick
    assert not slow.done()
    replica.leave.set()
    assert (await slow).body == b"1"


async def test_a_call_that_takes_too_long_is_refused_and_named_and_the_game_goes_on_after_it(
    hasty_pool: ThreadPool,
) -> None:
    replica = Replica(hasty_pool, HASTY_S)
    await replica.step(StepKind.START, "blocks")
    with pytest.raises(DeadlineExceededError):
        await replica.step(StepKind.TICK, "blocks", "for ever")
    assert [call.split(",")[0] for call in hasty_pool.stuck()] == ["Sleeper.on_tick of session 'blocks'"]
    replica.leave.set()
    assert (await replica.step(StepKind.TICK, "blocks", None)).body == b"2"
    assert hasty_pool.stuck() == []


async def test_a_game_that_blocks_moves_with_its_agents_state(pool: ThreadPool) -> None:
    first, second = Replica(pool), Replica(pool)
    await first.step(StepKind.START, "blocks")
    ticking = asyncio.create_task(first.step(StepKind.TICK, "blocks", 0.05))
    await asyncio.sleep(0)
    (game,) = first.table.games.all()
    async with first.table.frozen(game):
        data = unpack(pack(save_session(game.sessions["blocks"]).data))
    assert (await ticking).body == b"1"
    moved = Game("blocks")
    await restore_session(second.table, moved, data, crashed=False)
    second.table.games.enter(moved)
    assert (await second.step(StepKind.TICK, "blocks", None)).body == b"2"


@pytest.mark.parametrize(
    ("agent_class", "blocking", "message"),
    [
        (Sleeper, False, "agent 'x' is Sleeper, a BlockingAgent, and blocking is false; allowed is blocking: true"),
        (EchoAgent, True, r"is EchoAgent, no app\.agents\.blocking:BlockingAgent, and blocking is true"),
        ("text", True, "agent 'x' is text, no"),
    ],
)
def test_a_class_of_the_other_kind_is_refused(agent_class: object, blocking: bool, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        check_blocking(agent_class, "x", blocking=blocking)


def test_a_class_of_its_kind_is_taken() -> None:
    check_blocking(Sleeper, "x", blocking=True)
    check_blocking(Plain, "x", blocking=False)
