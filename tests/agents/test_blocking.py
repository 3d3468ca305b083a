import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any, cast

import numpy as np
import pytest

from app.agents.agent import AgentContext
from app.agents.blocking import BlockingAgent, BlockingContext, Offloaded
from app.agents.threads import ThreadPool
from app.deadline import StepTime
from app.errors import DeadlineExceededError, SnapshotError
from app.models.placement import LocalModel
from app.models.question import GREEDY, Question
from app.models.torch_engine import TorchEngine
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.sessions.session import EndCause
from app.types import UNTRAINED, Arrays, Purpose, Version
from app.wire.payload import BytesCodec, Payload
from app.wire.trees import pack, unpack
from tests.small_policy import small_policy


class Echo(BlockingAgent):
    """Echoes, in a thread; waits inside a tick that is told to."""

    def __init__(self, context: BlockingContext) -> None:
        super().__init__(context)
        self.entered, self.leave = threading.Event(), threading.Event()
        self.running = 0
        self.seen: list[Any] = []

    def on_tick(self, payload: Payload) -> Payload:
        self.running += 1
        assert self.running == 1
        self.entered.set()
        if payload == "wait":
            assert self.leave.wait(10)
        self.seen.append(payload)
        self.running -= 1
        return {"echo": cast("str", payload), "thread": threading.current_thread().name}

    def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        self.context.report(1.5, len(self.seen))
        return str(cause)


class Asking(BlockingAgent):
    """Asks the model from its thread."""

    codec = "bytes"

    def on_tick(self, payload: Payload) -> Payload:
        assert self.context.model is not None
        spec = self.context.model.spec
        observation = np.zeros(spec.inputs.leaves[0].shape, spec.inputs.leaves[0].dtype)
        decision = self.context.model.decide(Question(observation, GREEDY))
        self.version = decision.version
        return b"%d" % decision.action


@pytest.fixture
async def pool() -> AsyncIterator[ThreadPool]:
    threads = ThreadPool(4, 100, 10.0)
    yield threads
    await threads.close()


@pytest.fixture
async def hasty() -> AsyncIterator[ThreadPool]:
    """Gives calls up that wait to be let go."""
    threads = ThreadPool(4, 100, 0.2)
    yield threads
    await threads.close()


def context(reports: list[tuple[float, int]], model: LocalModel | None = None) -> AgentContext:
    def report(returned: float, ticks: int) -> None:
        reports.append((returned, ticks))

    return AgentContext("s", Purpose.PLAY, Draws(1), model, None, report, Board(Game("s"), "s", 5.0))


async def test_a_blocking_agent_plays_an_episode(pool: ThreadPool) -> None:
    reports: list[tuple[float, int]] = []
    agent = Offloaded(context(reports), Echo, pool)
    assert await agent.on_start(None) is None
    answer = await agent.on_tick(7)
    assert isinstance(answer, dict)
    assert answer["echo"] == 7
    assert str(answer["thread"]).startswith("agents-")
    assert await agent.on_episode(None, EndCause.STOP) == "stop"
    await asyncio.sleep(0)
    assert reports == [(1.5, 1)]


async def test_a_step_that_was_given_up_ends_before_the_next_begins(hasty: ThreadPool) -> None:
    inside: list[Echo] = []

    def make(given: BlockingContext) -> Echo:
        inside.append(Echo(given))
        return inside[0]

    agent = Offloaded(context([]), make, hasty)
    with pytest.raises(DeadlineExceededError, match=r"Echo\.on_tick of session 's' took longer than 0.2 s"):
        await agent.on_tick("wait")
    with pytest.raises(DeadlineExceededError, match="an earlier call is stuck: Echo"):
        await agent.on_tick("too early")
    following = asyncio.create_task(agent.on_tick("next"))
    await asyncio.sleep(0)
    assert len(hasty.stuck()) == 1
    inside[0].leave.set()
    answer = await following
    assert isinstance(answer, dict)
    assert answer["echo"] == "next"
    assert inside[0].seen == ["wait", "next"]


async def test_agents_block_side_by_side(pool: ThreadPool) -> None:
    agents: list[Echo] = []

    def make(given: BlockingContext) -> Echo:
        agents.append(Echo(given))
        return agents[-1]

    sessions = [Offloaded(context([]), make, pool) for _ in range(4)]
    ticks = [asyncio.create_task(session.on_tick("wait")) for session in sessions]
    for agent in agents:
        assert await asyncio.to_thread(agent.entered.wait, 5)
    for agent in agents:
        agent.leave.set()
    answers = await asyncio.gather(*ticks)
    assert len({str(answer["thread"]) for answer in answers if isinstance(answer, dict)}) == 4


async def test_a_blocking_agent_asks_the_model(pool: ThreadPool) -> None:
    async def none_kept(version: Version) -> Arrays:
        raise AssertionError(f"{version} was asked for")

    agent = Offloaded(context([], LocalModel(TorchEngine(small_policy(0)), none_kept)), Asking, pool)
    assert isinstance(agent.payloads(), BytesCodec)
    assert await agent.on_tick(b"") in (b"0", b"1", b"2", b"3")
    assert agent.version == UNTRAINED


async def test_the_time_of_a_step_goes_with_the_question_from_a_thread(pool: ThreadPool) -> None:
    async def none_kept(version: Version) -> Arrays:
        raise AssertionError(f"{version} was asked for")

    model = LocalModel(TorchEngine(small_policy(0)), none_kept)
    agent = Offloaded(context([], model), Asking, pool)
    step_time = StepTime(asyncio.get_running_loop().time())
    with pytest.raises(DeadlineExceededError):
        await agent.on_tick(b"")
    assert (model.queue.late, model.queue.batches) == (1, 0)
    step_time.over()
    await agent.on_tick(b"")
    assert model.queue.batches == 1


class Thinking(BlockingAgent):
    """Adds up, shares what it has, and waits for what another agent shares."""

    def __init__(self, context: BlockingContext) -> None:
        super().__init__(context)
        self.total = 0

    def on_tick(self, payload: Payload) -> Payload:
        assert isinstance(payload, int)
        self.total += payload
        self.context.board.put("mine", self.total)
        return str(self.context.board.wait("theirs"))


async def test_a_blocking_agent_shares_values_with_the_agents_of_its_game(pool: ThreadPool) -> None:
    given = context([])
    agent = Offloaded(given, Thinking, pool)
    tick = asyncio.create_task(agent.on_tick(3))
    assert await given.board.wait("mine") == 3
    given.board.put("theirs", "yours")
    assert await tick == "yours"


async def test_the_state_of_a_blocking_agent_travels(pool: ThreadPool) -> None:
    first = Offloaded(context([]), Thinking, pool)
    first.context.board.put("theirs", None)
    await first.on_tick(3)
    first.context.rng.random()
    second = Offloaded(context([]), Thinking, pool)
    second.context.board.put("theirs", None)
    await second.load_state_dict(unpack(pack(first.state_dict())))
    await second.on_tick(4)
    assert second.state_dict() == {"rng": 1, "version": None, "attributes": {"total": 7}}
    with pytest.raises(SnapshotError, match="the state of a Thinking has attributes, got list"):
        await second.load_state_dict([])


async def test_while_a_call_runs_that_was_given_up_the_state_is_not_whole(hasty: ThreadPool) -> None:
    inside: list[Echo] = []

    def make(given: BlockingContext) -> Echo:
        inside.append(Echo(given))
        return inside[0]

    agent = Offloaded(context([]), make, hasty)
    with pytest.raises(DeadlineExceededError):
        await agent.on_tick("wait")
    with pytest.raises(SnapshotError, match=r"the state is not whole while a call runs: Echo\.on_tick"):
        agent.state_dict()
    inside[0].leave.set()
