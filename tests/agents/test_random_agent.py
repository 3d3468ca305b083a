"""The agent that plays by chance keeps to the mask and reaches every choice."""

from collections import Counter
from typing import Any

import pytest

from app.agents.agent import AgentContext
from app.agents.random_agent import RandomAgent
from app.errors import BadPayloadError
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.types import Purpose


def agent(seed: int = 1) -> RandomAgent:
    board = Board(Game("g"), "random", 1.0)
    context = AgentContext("g-agent-random", Purpose.PLAY, Draws(seed), None, None, lambda *_: None, board)
    return RandomAgent(context, 4)


async def test_all_choices_come_equally_often() -> None:
    playing = agent()
    actions = Counter([(await playing.on_tick({"observation": [0]}))["action"] for _ in range(4000)])  # type: ignore[index,call-overload]
    assert set(actions) == {0, 1, 2, 3}
    assert max(abs(count - 1000) for count in actions.values()) < 150  # Five deviations of a fair draw.


async def test_what_the_mask_forbids_is_never_played_and_equal_seeds_play_alike() -> None:
    played = [[await one.on_tick({"action_mask": [0, 1, 0, 1]}) for _ in range(50)] for one in (agent(7), agent(7))]
    assert played[0] == played[1]
    assert {tick["action"] for tick in played[0]} == {1, 3}  # type: ignore[index,call-overload]


@pytest.mark.parametrize("mask", [[0, 0, 0, 0], [1, 1], "1111"])
async def test_a_mask_that_allows_nothing_or_does_not_fit_is_refused(mask: Any) -> None:
    with pytest.raises(BadPayloadError, match="allowed is a list of 4 flags, not all 0"):
        await agent().on_tick({"action_mask": mask})


def test_no_choices_are_refused() -> None:
    with pytest.raises(ValueError, match="choices is 0"):
        RandomAgent(agent().context, 0)
