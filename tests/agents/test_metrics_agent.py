from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from app.agents.agent import AgentContext
from app.agents.metrics_agent import MetricsAgent
from app.errors import ConfigError, SnapshotError
from app.games.arena.arena_pb2 import StopInput, TickInput
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.sessions.session import EndCause
from app.types import Purpose
from app.wire.trees import pack, unpack


class Seen:
    """One agent, what it has measured, and its game's blackboard."""

    def __init__(self, session: str = "g-agent-one", **kwargs: Any) -> None:
        self.measured: dict[str, list[float]] = defaultdict(list)
        self.board = Board(Game("g"), session, 1.0)
        context = AgentContext(
            session, Purpose.PLAY, Draws(1), None, None, lambda *_: None, self.board,
            lambda name, value: self.measured[name].append(value),
        )  # fmt: skip
        self.agent = MetricsAgent(context, **kwargs)

    async def play(self, ticks: Sequence[Any], stop: Any = None) -> Mapping[str, list[float]]:
        for tick in ticks:
            assert await self.agent.on_tick(tick) is None
        assert await self.agent.on_episode(stop, EndCause.STOP) is None
        return self.measured


async def test_it_reports_each_tick_and_sums_at_the_end_with_what_the_stop_brings() -> None:
    seen = Seen(payload=["reward", "me.health"])
    measured = await seen.play([{"me": {"health": 9}}, {"reward": 1.5, "me": {"health": 7}}], {"reward": -1})
    assert measured == {
        "reward": [1.5, -1], "me.health": [9, 7], "episode/ticks": [2], "episode/reward": [0.5],
        "episode/me.health": [16],
    }  # fmt: skip


async def test_it_reports_what_stands_on_the_blackboard() -> None:
    seen = Seen(board=["damage", "target"])
    seen.board.put("damage", 3)
    seen.board.put("target", "the boss")
    assert await seen.play([None]) == {
        "damage": [3], "episode/ticks": [1], "episode/damage": [3], "missing/target": [1]
    }  # fmt: skip


async def test_it_reads_messages_and_the_stops_own_path() -> None:
    seen = Seen(payload=["reward"], stop={"reward": "last.reward"})
    measured = await seen.play([TickInput(), TickInput(reward=2)], StopInput(last=TickInput(reward=1)))
    assert measured["reward"] == [2, 1]
    assert measured["episode/reward"] == [3]


async def test_it_looks_at_the_agents_that_it_is_told_alone() -> None:
    assert await Seen("g-agent-boss", payload=["reward"], agents=["player"]).play([{"reward": 1}]) == {}
    assert await Seen("g-agent-player", payload=["reward"], agents=["player"]).play([{"reward": 1}]) != {}


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"board": ["x"], "payload": ["x"]}, "reports each name once, got x, x"),
        ({"payload": ["x"], "stop": {"y": "last.y"}}, "allowed are paths by those of payload, x"),
    ],
)
def test_what_cannot_be_meant_is_refused(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Seen(**kwargs)


async def test_its_sums_move_and_what_it_looks_at_is_the_new_replicas() -> None:
    first, second = Seen(payload=["reward"]), Seen(payload=["reward", "health"])
    await first.agent.on_tick({"reward": 2})
    await second.agent.load_state_dict(unpack(pack(first.agent.state_dict())))
    measured = await second.play([{"reward": 1, "health": 5}])
    assert measured["episode/ticks"] == [2]
    assert measured["episode/reward"] == [3]
    assert measured["episode/health"] == [5]
    with pytest.raises(SnapshotError, match="has ticks and sums, got list"):
        await second.agent.load_state_dict([])
