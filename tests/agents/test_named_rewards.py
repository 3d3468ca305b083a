"""Rewards with names, from the payload of a tick to the columns of a batch."""

import asyncio
import math
from typing import Any

import numpy as np
import pytest

from app.agents.agent import AgentContext
from app.agents.gym_agent import GymAgent
from app.agents.json_rewards import read_reward
from app.agents.outbox import Outbox
from app.agents.unroll import Unroll
from app.errors import BadPayloadError
from app.models.distributions.categorical import Categorical
from app.models.question import Decision, Question
from app.models.spec import ArraySpec, ModelSpec
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.sessions.session import EndCause
from app.types import Purpose, RowKind, Version
from app.wire.trees import pack, unpack

SPEC = ModelSpec(ArraySpec((1,)), Categorical(2), rewards=("win", "health"))
PLAIN = ModelSpec(ArraySpec((1,)), Categorical(2))


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"win": 1, "health": -0.5}, [1.0, -0.5]),
        ({"health": -0.5, "win": 1}, [1.0, -0.5]),
        (0, [0.0, 0.0]),
        (0.0, [0.0, 0.0]),
    ],
)
def test_named_rewards_stand_in_the_order_of_the_spec(value: object, wanted: list[float]) -> None:
    got = read_reward(value, SPEC)
    assert isinstance(got, np.ndarray)
    assert (got.tolist(), got.dtype) == (wanted, np.float32)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0.5, "reward is 0.5; allowed is an object with a number for each of win, health"),
        (False, "reward is False; allowed is an object"),
        ([1, 2], "allowed is an object"),
        ({"win": 1}, "reward names win; allowed are exactly the rewards of the model: win, health"),
        ({"win": 1, "helth": 2}, "reward names win, helth; allowed are exactly"),
        ({"win": 1, "health": 2, "more": 3}, "reward names win, health, more; allowed"),
        ({}, "reward names nothing; allowed"),
        ({"win": math.nan, "health": 0}, "reward.win is nan; allowed is a number up to"),
        ({"win": 0, "health": math.inf}, "reward.health is inf; allowed"),
        ({"win": 0, "health": "1"}, "reward.health is '1'; allowed"),
        ({"win": 0, "health": True}, "reward.health is True; allowed"),
    ],
)
def test_named_rewards_that_do_not_fit_are_refused(value: object, message: str) -> None:
    with pytest.raises(BadPayloadError, match=message):
        read_reward(value, SPEC)


def test_one_reward_without_a_name_stays_a_number() -> None:
    assert read_reward(2, PLAIN) == 2.0
    with pytest.raises(BadPayloadError, match=r"reward is \{'win': 1\}; allowed is a number"):
        read_reward({"win": 1}, PLAIN)


class Model:
    """Always answers 1 and values both rewards."""

    spec = SPEC

    def decide(self, question: Question) -> "asyncio.Future[Decision]":
        decision: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        decision.set_result(Decision(1, -0.7, np.array([0.25, 4.0], np.float32), Version(1, 5)))
        return decision


class Play:
    """An agent with all that surrounds it."""

    def __init__(self) -> None:
        self.outbox = Outbox(SPEC, 1_000, lambda: None)
        self.reports: list[tuple[float, int]] = []
        self.measured: list[tuple[str, float]] = []
        self.board = Board(Game("s"), "s", 1)
        model: Any = Model()
        self.agent = GymAgent(
            AgentContext(
                session="s",
                purpose=Purpose.TRAIN,
                rng=Draws(0),
                model=model,
                unroll=Unroll(1, 3, self.outbox.add),
                report=lambda returned, ticks: self.reports.append((returned, ticks)),
                board=self.board,
                measure=lambda name, value: self.measured.append((name, value)),
            )
        )

    async def tick(self, t: int, reward: object) -> None:
        await self.agent.on_tick({"observation": [t], "reward": reward})


def reward(win: float, health: float) -> dict[str, float]:
    return {"win": win, "health": health}


async def test_a_game_with_named_rewards_becomes_rows_and_tells_each_return_apart() -> None:
    play = Play()
    await play.tick(0, 0.0)
    await play.tick(1, reward(0.0, 0.5))
    assert (play.board.get("reward"), play.board.get("reward/health")) == (0.5, 0.5)
    await play.tick(2, reward(0.0, -1.0))
    await play.agent.on_episode({"reward": reward(1.0, 0.25), "terminated": True}, EndCause.STOP)
    rows = play.outbox.take()
    assert rows["reward"].tolist() == [[0.0, 0.5], [0.0, -1.0], [1.0, 0.25], [0.0, 0.0]]
    assert rows["value"].tolist() == [[0.25, 4.0]] * 3 + [[0.0, 0.0]]
    assert rows["kind"].tolist() == [RowKind.STEP] * 3 + [RowKind.TERMINATED]
    assert play.reports == [(0.75, 3)]
    assert play.measured == [("return/win", 1.0), ("return/health", -0.25)]


async def test_a_game_that_moves_keeps_its_named_rewards() -> None:
    there, here = Play(), Play()
    await there.tick(0, 0.0)
    await there.tick(1, reward(0.0, 0.5))
    await here.agent.load_state_dict(unpack(pack(there.agent.state_dict())))
    await here.tick(2, reward(2.0, 0.5))
    await here.agent.on_episode({"reward": reward(1.0, 0.0), "truncated": True}, EndCause.STOP)
    assert here.outbox.take()["reward"].tolist() == [[0.0, 0.5], [2.0, 0.5], [0.0, 0.0]]
    assert here.measured == [("return/win", 3.0), ("return/health", 1.0)]
