"""Faults in the midst of games: no game is lost, and no step of one is played or recorded twice."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

import orjson
import pytest

from app.client.connection import HttpConnection
from app.client.simulator import Transport
from app.types import Rows
from app.wire import messages_pb2 as pb
from tests.deployments.wire_client import Client, post
from tests.deployments.wire_frames import bray, bray_reply, native, native_reply

from .cutting_proxy import cutting_proxy
from .declared import DeclaredService
from .fleet import COUNTING, statuses
from .learner import Learner
from .live_games import live_games
from .service import Cluster, Service, observation, playing, wait_until
from .test_hand_over import kill, moved, pids, totals

pytestmark = pytest.mark.ray

GAMES = 100
ROOMY = ("buffers.rollouts.capacity_rows=100000",)
"""A buffer in which nothing is dropped before the test has read it."""


@pytest.mark.long
def test_replicas_are_added_and_taken_away_under_live_games(cluster: Cluster) -> None:
    with DeclaredService(cluster, "stretched", *COUNTING) as service:
        with live_games(service.url, GAMES, pause_s=0.2) as first:
            service.scale(4)
            four = {status["pid"] for status in statuses(service, 4)}
            with live_games(service.url, GAMES, pause_s=0.2, prefix="later", connections=16) as second:
                service.scale(1)
                before = first.ticks, second.ticks
                wait_until(lambda: first.ticks > before[0] + 5 * GAMES, "the first games go on")
                wait_until(lambda: second.ticks > before[1] + 5 * GAMES, "the later games go on")
                (last,) = statuses(service, 1)
                assert last["pid"] in four
                assert last["sessions"] == 2 * GAMES
        counts = moved(service, 1)
        assert counts["closed_shutdown"] == counts["closed_idle"] == counts["agent_error"] == 0


def test_lost_replies_cost_neither_a_game_nor_a_row_and_double_none(cluster: Cluster) -> None:
    games = 50
    with Service(cluster, "dropped", *ROOMY) as service, cutting_proxy(service.port, share=0.1) as proxy:
        service.publish(seed=1)
        learner = Learner(service.trial.buffer("rollouts"), "all")
        with playing(proxy.url, games=games, episodes=games, transport=Transport.STEP) as game_core:
            result = game_core.result(timeout=120)
        assert (result.episodes, result.lost_games, result.errors) == (games, 0, 0)
        assert proxy.cut > 0.05 * proxy.passed
        assert service.status()["counts"]["ticks_train"] == result.ticks

        recorded: Counter[tuple[int, int]] = Counter()
        with playing(service.url):  # Games that come behind, so that the last batch is filled.
            while (rows := steps_in(learner.next())) and any(number(episode) <= games for episode, _ in rows):
                recorded.update(row for row in rows if number(row[0]) <= games)
        learner.close()
        assert set(recorded.values()) == {1}
        assert len(recorded) == result.ticks


def test_no_row_is_handed_out_twice_when_a_replica_is_killed_that_records(cluster: Cluster) -> None:
    # A trajectory leaves right behind each snapshot, so that most restored games send one again.
    settings = ("snapshot_every_ticks=6", "unroll_ticks=2", "push_ms=5", "replicas=2")
    with Service(cluster, "recording", *(f"actors.main.{setting}" for setting in settings), *ROOMY) as service:
        service.publish(seed=1)
        learner = Learner(service.trial.buffer("rollouts"), "all")
        recorded: Counter[tuple[int, int]] = Counter()
        with playing(service.url, games=24, transport=Transport.STEP) as game_core:
            for _ in range(4):
                recorded.update(steps_in(learner.next()))
            kill(pids(service, 2).popitem()[1])
            wait_until(lambda: totals(service)["games_recovered"] > 0, "games are restored", 60)
            for _ in range(20):
                recorded.update(steps_in(learner.next()))
        learner.close()
        result = game_core.result()
        assert (result.lost_games, result.errors) == (0, 0), result
        assert [row for row, times in recorded.items() if times > 1] == []


def steps_in(batch: Rows) -> list[tuple[int, int]]:
    """Returns episode and tick of each row that is learned from."""
    counted = batch["weight"] > 0
    return list(zip(batch["episode"][counted].tolist(), batch["tick"][counted].tolist(), strict=True))


def number(episode: int) -> int:
    """Returns which of its replica's episodes it is."""
    return episode & 0xFFFFFFFF


async def by_http(client: Client, session: str, kind: str, seq: int) -> bytes:
    client.send(post("/step", b"%d" % seq if seq else b"null", session=session, step_kind=kind, seq=str(seq)))
    reply = await client.reply()
    assert reply.status == 200, reply.body
    return reply.body


async def by_bray(client: Client, session: str, kind: str, seq: int) -> bytes:
    client.send(bray(session, kind, b"%d" % seq if seq else b"null", time=seq))
    answered, body, time = await bray_reply(client)
    assert (answered, time) == (session, seq)
    return body


async def by_native(client: Client, session: str, kind: str, seq: int) -> bytes:
    body = b"%d" % seq if seq else b"null"
    number = {"start": pb.KIND_START, "tick": pb.KIND_TICK, "stop": pb.KIND_STOP}[kind]
    client.send(native(pb.Request(step=pb.Step(session=session, kind=number, seq=seq, body=body), request_id=seq)))
    reply = await native_reply(client)
    assert reply.answer.error.code == "", reply
    return reply.answer.body


Exchange = Callable[[Client, str, str, int], Awaitable[bytes]]


def test_a_game_goes_on_over_a_new_connection_a_tick_in_any_protocol(cluster: Cluster) -> None:
    ticks, games = 30, 8

    async def step(exchange: Exchange, port: int, session: str, kind: str, seq: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            return await exchange(Client(reader, writer), session, kind, seq)
        finally:
            writer.close()

    async def play(exchange: Exchange, port: int, session: str) -> None:
        await step(exchange, port, session, "start", 0)
        for seq in range(1, ticks + 1):
            answer = orjson.loads(await step(exchange, port, session, "tick", seq))
            assert answer == {"ticks": seq, "total": seq * (seq + 1) // 2, "missed": 0}
        await step(exchange, port, session, "stop", ticks + 1)

    async def play_all(port: int) -> None:
        async with asyncio.TaskGroup() as group:
            for exchange in (by_http, by_bray, by_native):
                for game in range(games):
                    group.create_task(play(exchange, port, f"{exchange.__name__}-{game}"))

    with Service(cluster, "hopping", "actors.main.replicas=2", *COUNTING) as service:
        statuses(service, 2)
        asyncio.run(play_all(service.port))
        found = statuses(service, 2)
        assert sum(status["counts"]["ticks_train"] for status in found) == 3 * games * ticks
        assert sum(status["counts"]["from_peers"] for status in found) > games * ticks  # Every second one.
        assert [status["sessions"] for status in found] == [0, 0]


def test_cancelled_calls_leave_nothing_behind_in_the_service_or_its_model(cluster: Cluster) -> None:
    sessions, ticks = 40, 50
    remote = ("models.main.placement=remote", "models.main.batching.wait_ms=5", "models.main.num_cpus=0.1")
    with Service(cluster, "cancelled", *remote) as service:
        wait_until(lambda: service.step(body=observation()).status_code == 200, "the model answers")
        given_up = asyncio.run(play_with_cancellations(service.port, sessions, ticks))
        assert given_up > 0.25 * sessions * ticks
        status = service.status()
        assert status["counts"]["ticks_train"] == sessions * ticks  # Each was played once, however often it was sent.
        assert status["sessions"] == sessions
        for game in range(sessions):
            assert service.step(f"game-{game}", "tick", observation(), seq=ticks + 1).status_code == 200
            assert service.step(f"game-{game}", "stop", seq=ticks + 2).status_code == 200
        assert service.status()["sessions"] == 0


async def play_with_cancellations(port: int, sessions: int, ticks: int) -> int:
    """Plays all ticks of all sessions, and returns how many calls were given up on the way."""
    async with asyncio.TaskGroup() as group:
        games = [group.create_task(play_impatiently(port, f"game-{game}", ticks)) for game in range(sessions)]
    return sum(game.result() for game in games)


async def play_impatiently(port: int, session: str, ticks: int) -> int:
    """Plays a session; of its calls the service is given too little time for some, and others nobody waits for."""
    source, given_up = random.Random(session), 0  # noqa: S311  # A test, not a secret.
    connection = await HttpConnection.open("127.0.0.1", port, timeout_s=10)
    body = orjson.dumps(observation())
    fields = {"session": session, "step_kind": "start", "seq": "0"}
    assert (await connection.request("POST", "/step", fields, b"null", 30)).status == 200
    for seq in range(1, ticks + 1):
        fields = {"session": session, "step_kind": "tick", "seq": str(seq)}
        if (chance := source.random()) < 0.15:
            hurried = fields | {"deadline_ms": str(source.randint(1, 20))}
            assert (await connection.request("POST", "/step", hurried, body, 30)).status in (200, 504)
            given_up += 1
        elif chance < 0.3:
            call = asyncio.ensure_future(connection.request("POST", "/step", fields, body, 30))
            await asyncio.wait([call], timeout=source.uniform(0, 0.03))
            call.cancel()
            await asyncio.wait([call])
            if source.random() < 0.5:
                await connection.close()
                connection = await HttpConnection.open("127.0.0.1", port, timeout_s=10)
            given_up += 1
        reply = await connection.request("POST", "/step", fields, body, 30)
        assert (reply.status, reply.headers.get("seq")) == (200, str(seq)), reply.body
    await connection.close()
    return given_up
