"""The client against the service's own port and sessions, without Ray."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from app.client.aio import Client, RetryLimits, Session, Step
from app.client.errors import StepFailedError
from app.wire.http import HttpReply, HttpRequest
from deployments.listener.detecting import DetectingConnection
from deployments.listener.port import Connections
from deployments.steps import StepService
from tests.sessions.fake_agent import BytesAgent, Table

from .lossy_proxy import lossy_proxy

QUICK = RetryLimits(limit_s=20, request_s=5, first_wait_s=0.001, longest_wait_s=0.01)
GAMES = 50
TICKS = 20


@asynccontextmanager
async def served(table: Table) -> AsyncIterator[int]:
    """Yields the port where the table's sessions are played."""
    service = StepService(table.table.step, _show, _show, 2**20)
    connections = Connections(service, 2**20)
    server = await asyncio.get_running_loop().create_server(partial(DetectingConnection, connections), "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await connections.finish(5)


async def _show(_: HttpRequest) -> HttpReply:
    raise AssertionError("no operator asks here")


async def play_and_give_up_now_and_then(client: Client, name: str, source: random.Random) -> Session:
    session = await client.start(name)
    for t in range(TICKS):
        call = asyncio.create_task(session.tick(t))
        if source.random() < 0.3:
            for _ in range(source.randrange(8)):
                await asyncio.sleep(0)
            call.cancel()
        await asyncio.wait([call])
        assert call.cancelled() or call.result().value == {"echo": t}
    await session.stop("over")
    return session


async def test_every_tick_reaches_its_agent_once_though_replies_are_lost_and_callers_give_up() -> None:
    table, source = Table(), random.Random(11)  # noqa: S311
    async with (
        served(table) as port,
        lossy_proxy(port, 0.1, seed=5) as proxy,
        Client(f"http://127.0.0.1:{proxy.port}", limits=QUICK) as client,
    ):
        play = partial(play_and_give_up_now_and_then, client, source=source)
        await asyncio.gather(*[play(f"g{i}") for i in range(GAMES)])
    assert proxy.losses > 20
    assert len(table.made) == GAMES
    for agent in table.made:
        ticks: Any = agent.ticks
        assert ticks == sorted(set(ticks))  # None twice; what was given up before it was sent may be missing.
        assert len(ticks) > TICKS / 2
        assert not agent.overlapped
        assert agent.calls[-1] == ("end", "over")


async def test_agents_see_whole_states_where_differences_travel() -> None:
    table = Table()
    state: dict[str, Any] = {"map": list(range(2000)), "players": {"a": {"x": 0, "hp": 9}}}
    states = []
    async with (
        served(table) as port,
        Client(f"http://127.0.0.1:{port}", compression="gzip") as client,
        client.start("a", delta=True) as session,
    ):
        for x in range(5):
            state["players"][f"p{x}"] = {"x": x}
            state["players"].pop(f"p{x - 2}", None)
            states.append({**state, "players": dict(state["players"])})
            answer = await session.tick(state)
            assert answer.value == {"echo": states[-1]}
    assert table.made[0].ticks == states


async def test_a_retried_start_without_a_name_is_one_game() -> None:
    table = Table()
    async with (
        served(table) as port,
        lossy_proxy(port, 0.5, seed=2) as proxy,
        Client(f"http://127.0.0.1:{proxy.port}", limits=QUICK) as client,
    ):
        sessions = [await client.start() for _ in range(10)]
        for session in sessions:
            await session.tick(1)
    assert proxy.losses > 5
    assert len({session.id for session in sessions}) == len(table.made) == 10


async def test_bytes_and_batches_are_the_services_as_well() -> None:
    table = Table(make=BytesAgent)
    async with served(table) as port, Client(f"http://127.0.0.1:{port}") as client:
        sessions = [client.session(game=f"g{i}", agent="player") for i in range(3)]
        frame = [Step(session, kind="start") for session in sessions] + [
            Step(session, b"\x00\xff") for session in sessions
        ]
        answers = await client.steps(frame)
        assert [a.value for a in answers if not isinstance(a, StepFailedError)][3:] == [b"\x00\xff"] * 3
        assert (await sessions[0].tick(b"raw")).value == b"raw"
    assert [agent.ticks for agent in table.made] == [[b"\x00\xff", b"raw"], [b"\x00\xff"], [b"\x00\xff"]]
