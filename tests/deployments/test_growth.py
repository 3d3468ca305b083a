"""The memory of a replica does not grow with the ticks that it answers."""

import asyncio
import gc
import resource
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
import uvloop

from app.agents.agent import AgentContext
from app.agents.echo import EchoAgent
from app.metrics.registry import Registry
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.limits import Limits
from app.sessions.table import SessionTable
from app.sessions.times import TickTimes
from app.types import Purpose, SessionId
from deployments.steps import StepService
from tests.deployments.test_steps import show, show_here
from tests.deployments.wire_client import WAIT_S, Client, listening, post
from tests.deployments.wire_frames import bray

WARM_UP_TICKS = 20_000
TICKS = 100_000
GROWTH_BYTES = 2**20
ROUND = 250
"""Ticks that are sent in one piece; half of them in each of two protocols."""
BODY = b"x" * 64


@pytest.mark.slow
def test_memory_does_not_grow_over_a_hundred_thousand_ticks() -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        growth_bytes, counts = runner.run(played())
    assert counts == {"starts": 2 + 240, "stops": 240, "ticks_train": WARM_UP_TICKS + TICKS}
    assert growth_bytes < GROWTH_BYTES


async def played() -> tuple[int, Counter[str]]:
    """Returns by how much the process grew after the warm-up, and what the table has counted."""
    counts: Counter[str] = Counter()
    table = table_of_echoes(counts)
    service = StepService(table.step, table.step, show, show_here, 1000)
    async with listening(service) as port, port.client() as http, port.client() as framed:
        http.send(post("/step", session="http", step_kind="start"))
        await http.reply()
        framed.send(bray("bray", "start"))
        await framed.reader.readexactly(24 + 4)
        games = count()
        await play(http, framed, games, WARM_UP_TICKS)
        before_bytes = memory_bytes()
        await play(http, framed, games, TICKS)
        return memory_bytes() - before_bytes, counts


async def play(http: Client, framed: Client, games: Iterator[int], ticks: int) -> None:
    """Plays so many ticks of two sessions, and between them the starts and stops of others."""
    by_http = post("/step", BODY, session="http") * (ROUND // 2)
    by_bray = bray("bray", "tick", BODY) * (ROUND // 2)
    for at in range(0, ticks, ROUND):
        http.send(by_http)
        framed.send(by_bray)
        async with asyncio.timeout(WAIT_S):
            echoed = await framed.reader.readexactly((24 + 4 + 64) * (ROUND // 2))
        assert echoed.endswith(b"bray" + BODY)
        for _ in range(ROUND // 2):
            assert (await http.reply()).body == BODY
        if at % (2 * ROUND) == 0:
            short = f"short-{next(games)}"
            http.send(*(post("/step", session=short, step_kind=kind) for kind in ("start", "stop")))
            assert [(await http.reply()).status for _ in range(2)] == [200, 200]


def table_of_echoes(counts: Counter[str]) -> SessionTable:
    def make(session: SessionId, purpose: Purpose, board: Board) -> EchoAgent:
        return EchoAgent(AgentContext(session, purpose, Draws(0), None, None, lambda _, __: None, board))

    loop, times = asyncio.get_running_loop(), TickTimes(Registry())
    return SessionTable(
        make, Limits(100, 60, 20), Purpose.TRAIN, lambda: "minted", loop.time, counts, times=lambda _: times
    )


def memory_bytes() -> int:
    """Returns what the process holds in memory that is its own."""
    gc.collect()
    size, resident, shared, *_ = map(int, Path("/proc/self/statm").read_text().split())
    assert size >= resident >= shared
    return (resident - shared) * resource.getpagesize()
