"""Many games at once, from the socket to the rows that are learned from: no row ever mixes two of them."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import orjson
import pytest

from app.agents.agent import AgentContext
from app.agents.gym_agent import GymAgent
from app.agents.outbox import Outbox
from app.agents.unroll import Unroll
from app.client.connection import HttpConnection
from app.models.module import to_arrays
from app.models.placement import LocalModel
from app.models.torch_engine import TorchEngine
from app.seeding import Draws, derive
from app.sessions.blackboard import Board
from app.sessions.limits import Limits
from app.sessions.table import SessionTable
from app.types import Arrays, Purpose, RowKind, Rows, SessionId, Version
from app.wire.http import HttpReply, HttpRequest
from deployments.listener.detecting import DetectingConnection
from deployments.listener.port import Connections
from deployments.steps import StepService
from tests.small_policy import small_policy

GAMES = 50
EPISODES = 6
TICKS_MAX = 13
UNROLL_TICKS = 5
PUSH_ROWS = 64


async def _show(request: HttpRequest) -> HttpReply:
    raise AssertionError(f"{request.path} was asked for")


class Actor:
    """An actor replica without Ray."""

    def __init__(self) -> None:
        engine = TorchEngine(small_policy(inputs=3))
        engine.load(Version(1, 1), to_arrays(small_policy(inputs=3)))
        self.model = LocalModel(engine, self._no_older_weights)
        self.pushes: list[Rows] = []
        self.outbox = Outbox(self.model.spec, PUSH_ROWS, self.push)
        self.counts: Counter[str] = Counter()
        self._episodes = count(1)
        limits = Limits(max_games=GAMES, idle_timeout_s=1000, step_timeout_s=20)
        clock = asyncio.get_running_loop().time
        self.table = SessionTable(self._make, limits, Purpose.TRAIN, lambda: "minted", clock, self.counts)
        self.service = StepService(self.table.step, _show, _show, 2**20)

    def push(self) -> None:
        if len(self.outbox):
            self.pushes.append(self.outbox.take())

    def _make(self, session: SessionId, purpose: Purpose, board: Board) -> GymAgent:
        unroll = Unroll(next(self._episodes), UNROLL_TICKS, self.outbox.add)
        draws = Draws(derive(0, session))
        return GymAgent(AgentContext(session, purpose, draws, self.model, unroll, lambda *_: None, board))

    async def _no_older_weights(self, version: Version) -> Arrays:
        raise AssertionError(f"nobody asked for {version}")


class Played(NamedTuple):
    """An episode as the game core knows it."""

    game: int
    number: int
    ticks: int
    stopped: bool
    """The game core said so; else it just started the next one."""


class Core:
    """A game core: plays all its games at once over the connections it has."""

    def __init__(self, connections: Sequence[HttpConnection], source: random.Random) -> None:
        self._connections = connections
        self._source = source
        self.played: list[Played] = []

    async def play(self, game: int) -> None:
        for number in range(EPISODES):
            await self._step(game, "start", None)
            ticks = self._source.randrange(TICKS_MAX + 1)
            for t in range(ticks):
                for _ in range(self._source.randrange(4)):
                    await asyncio.sleep(0)  # Other games' turns.
                await self._step(
                    game, "tick", {"observation": [game, number, t], "reward": reward(game, number, t - 1)}
                )
            stopped = number == EPISODES - 1 or self._source.random() < 0.6
            if stopped:
                final = {"observation": [game, number, ticks], "reward": reward(game, number, ticks - 1)}
                await self._step(game, "stop", final | {"terminated": True})
            self.played.append(Played(game, number, ticks, stopped))

    async def _step(self, game: int, kind: str, body: Any) -> None:
        connection = self._source.choice(self._connections)  # Any connection reaches any game.
        headers = {"session": f"game-{game}", "step_kind": kind}
        reply = await connection.request("POST", "/step", headers, b"" if body is None else orjson.dumps(body), 20)
        assert reply.status == 200, reply.body


def reward(game: int, number: int, t: int) -> float:
    """Returns the reward of the action of tick t: a number that nothing else has."""
    return game * 1000 + number * 100 + t


async def play_all(connections: int, seed: int) -> tuple[Actor, list[Played]]:
    actor, source = Actor(), random.Random(seed)  # noqa: S311  # A test, not a secret.
    open_connections = Connections(actor.service, 10_000)
    accept = partial(DetectingConnection, open_connections)
    server = await asyncio.get_running_loop().create_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    clients = [await HttpConnection.open("127.0.0.1", port, timeout_s=5) for _ in range(connections)]
    core = Core(clients, source)
    async with asyncio.TaskGroup() as games:
        for game in range(GAMES):
            games.create_task(core.play(game))
    for client in clients:
        await client.close()
    server.close()
    await open_connections.finish(5)
    actor.push()
    return actor, core.played


class Trajectory(NamedTuple):
    """Consecutive rows and the bootstrap row behind them."""

    game: int
    number: int
    t: list[int]
    rewards: list[float]
    episode: int
    end: RowKind


def trajectories(pushes: Sequence[Rows]) -> list[Trajectory]:
    """Returns all trajectories; fails where the rows of one are not of one episode of one game."""
    found = []
    for rows in pushes:
        first = 0
        for last in np.flatnonzero(rows["kind"] != RowKind.STEP):
            part = {name: column[first : last + 1] for name, column in rows.items()}
            first = last + 1
            games, numbers, t = (part["observation"][:, axis].astype(int).tolist() for axis in range(3))
            assert len(set(games)) == len(set(numbers)) == len(set(part["episode"].tolist())) == 1
            assert t == list(range(t[0], t[0] + len(t)))
            assert part["tick"].tolist() == t
            assert part["weight"].tolist() == [1.0] * (len(t) - 1) + [0.0]
            rewards, end = part["reward"].tolist()[:-1], RowKind(int(part["kind"][-1]))
            found.append(Trajectory(games[0], numbers[0], t, rewards, int(part["episode"][0]), end))
        assert first == len(rows["kind"])
    return found


@pytest.mark.parametrize("connections", [1, 8])
@pytest.mark.parametrize("seed", [0, 1])
async def test_every_tick_becomes_one_row_of_its_own_episode_beside_its_own_reward(connections: int, seed: int) -> None:
    actor, played = await asyncio.wait_for(play_all(connections, seed), 40)
    found = trajectories(actor.pushes)
    assert len(played) == GAMES * EPISODES
    assert any(not episode.stopped for episode in played)
    assert actor.model.queue.batches < actor.counts["ticks_train"]  # Games did share batches.

    for episode in played:
        own = [part for part in found if (part.game, part.number) == (episode.game, episode.number)]
        # Of an episode that was not stopped, the reward of the last tick never came.
        rows = episode.ticks if episode.stopped else max(episode.ticks - 1, 0)
        assert [t for part in own for t in part.t[:-1]] == list(range(rows))
        expected = [reward(episode.game, episode.number, t) for t in range(rows)]
        assert [r for part in own for r in part.rewards] == expected
        ends = [part.end for part in own]
        assert ends[:-1] == [RowKind.FULL] * (len(ends) - 1)
        assert all(len(part.rewards) == UNROLL_TICKS for part in own[:-1])
        if episode.stopped and episode.ticks:
            assert ends[-1] is RowKind.TERMINATED
        elif own and ends[-1] is not RowKind.FULL:
            assert ends[-1] is RowKind.TRUNCATED
        assert len({part.episode for part in own}) == bool(own)

    assert actor.counts["ticks_train"] == sum(episode.ticks for episode in played)
    lost = sum(1 for episode in played if not episode.stopped and episode.ticks)
    assert sum(len(part.rewards) for part in found) == actor.counts["ticks_train"] - lost
    assert len(actor.table) == 0
