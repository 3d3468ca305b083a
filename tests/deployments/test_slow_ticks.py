"""Ticks that take too long, and what is told of where their time went."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest

from app.agents.agent import Agent
from app.agents.timed_agent import PRESENT, TickParts, TimedAgent, TimedModel
from app.types import StepKind
from app.wire.payload import Payload
from app.wire.steps import StepReply, StepRequest
from deployments.slow_ticks import SlowTicks

if TYPE_CHECKING:
    from app.agents.agent import AgentContext
    from app.checks.alarm import Alarm
    from app.models.model import Model
    from deployments.steps import Step

LONG_S = 0.2
LIMIT_MS = 100.0
Seen = Callable[[], bool]
"""Tells whether the ticks under way have been looked at, which a busy machine may put off."""


class SlowModel:
    """Takes its time to decide, until that was seen."""

    spec: Any = None

    def __init__(self, seen: Seen) -> None:
        self.seen = seen

    async def decide(self, question: object) -> int:
        while True:
            await asyncio.sleep(LONG_S)
            if self.seen():
                return 1


class SlowAgent(Agent):
    """Waits for a model, or blocks the loop."""

    def __init__(self, seen: Seen) -> None:
        super().__init__(cast("AgentContext", None))
        self.seen = seen

    async def on_tick(self, payload: Payload) -> Payload:
        if payload == "model":
            await cast("Any", TimedModel(cast("Model", SlowModel(self.seen)))).decide(None)
        elif payload == "block":
            block_the_loop(self.seen)
        return None


def block_the_loop(seen: Seen) -> None:
    time.sleep(LONG_S)
    while not seen():
        time.sleep(LONG_S)


class Watched:
    """A replica's ticks, and what is told of them."""

    def __init__(self) -> None:
        self.told: "list[Alarm]" = []
        self.counts: Counter[str] = Counter()
        self.agent = TimedAgent(SlowAgent(self.seen))
        self.ticks = SlowTicks(LIMIT_MS, "replica a", self.told.append, self.counts)
        self.lock = asyncio.Lock()
        self.step: "Step" = self.ticks.watched(self._step)

    def seen(self) -> bool:
        return all(running.seen for running in list(self.ticks._running.values()))

    async def _step(self, request: StepRequest) -> StepReply:
        async with self.lock:
            await self.agent.on_tick(request.body.decode() if isinstance(request.body, bytes) else "")
        return StepReply(request.session, b"", 18)

    async def tick(self, what: str, kind: StepKind = StepKind.TICK) -> None:
        await self.step(StepRequest("s", kind, what.encode()))


@asynccontextmanager
async def watching() -> AsyncIterator[Watched]:
    watched = Watched()
    running = asyncio.create_task(watched.ticks.run())
    await asyncio.sleep(0)  # The thread is started.
    try:
        yield watched
    finally:
        running.cancel()
        await asyncio.wait([running], timeout=10)


def parts(alarm: "Alarm") -> dict[str, float]:
    words = [part.split(" ") for part in alarm.details[0].split(", ")]
    return {name: float(number) for name, number, _ in words}


async def test_a_tick_that_blocks_the_loop_is_told_of_with_session_tick_parts_and_the_line_it_was_in() -> None:
    async with watching() as watched:
        await watched.tick("block")
    (alarm,) = watched.told
    assert (alarm.check, alarm.session, alarm.tick, alarm.allowed) == ("slow_tick", "s", 17, "at most 100")
    assert alarm.value >= 1000 * LONG_S
    assert parts(alarm)["agent"] >= 1000 * LONG_S
    assert parts(alarm)["model"] == 0
    assert "runs block_the_loop (deployments/test_slow_ticks.py:" in alarm.details[1]
    assert watched.counts["slow_ticks"] == 1


async def test_a_tick_that_waits_for_its_model_names_where_it_waits() -> None:
    async with watching() as watched:
        await watched.tick("model")
    (alarm,) = watched.told
    assert parts(alarm)["model"] >= 1000 * LONG_S - 1
    assert "waits in SlowModel.decide (deployments/test_slow_ticks.py:" in alarm.details[1]


async def test_a_tick_behind_another_one_has_its_time_in_the_queue() -> None:
    async with watching() as watched:
        await asyncio.gather(watched.tick("model"), watched.tick("quick"))
    (behind,) = [alarm for alarm in watched.told if parts(alarm)["model"] == 0]
    assert parts(behind)["queue"] >= 1000 * LONG_S / 2
    assert parts(behind)["agent"] < 1000 * LONG_S / 2


async def test_a_quick_tick_and_a_step_that_is_none_are_not_told_of() -> None:
    async with watching() as watched:
        await watched.tick("quick")
        await watched.tick("model", StepKind.START)
    assert watched.told == []
    assert PRESENT.get() is None


def test_parts_add_up_to_the_whole_tick() -> None:
    times = TickParts(begun_s=1.0, agent_begun_s=1.25, agent_s=0.5, model_s=0.25)
    assert times.parts_ms(2.0) == pytest.approx({"queue": 250, "agent": 250, "model": 250, "rest": 250})
    assert TickParts(begun_s=1.0).parts_ms(1.5) == pytest.approx({"queue": 500, "agent": 0, "model": 0, "rest": 0})
