import asyncio

import numpy as np
import pytest

from app.agents.agent import AgentContext
from app.errors import BadPayloadError
from app.games.arena.agents import BossAgent, ObserverAgent, action_name
from app.games.arena.arena_pb2 import StopInput, StopOutput, TickOutput
from app.games.arena.game import FIRST_SKILL, STAY, Arena, Setup, Skill
from app.games.arena.messages import stop_of, tick_of
from app.seeding import Draws
from app.sessions.blackboard import Board
from app.sessions.game import Game
from app.sessions.session import EndCause
from app.types import Purpose
from app.wire.trees import pack, unpack

WEAK, STRONG, HEAL = Skill(3, 5, 1), Skill(1, 9, 3), Skill(9, 9, 1, heals=True)


def context() -> AgentContext:
    return AgentContext(
        session="g-agent-x",
        purpose=Purpose.PLAY,
        rng=Draws(0),
        model=None,
        unroll=None,
        report=lambda returned, ticks: None,
        board=Board(Game("g"), "g-agent-x", timeout_s=1),
    )


def arena(*places: tuple[int, int], players: int = 1) -> Arena:
    made = Arena(Setup(players, len(places) - players, (WEAK, STRONG, HEAL)), np.random.default_rng(0))
    made.place[:] = places
    return made


async def bosses(game: Arena) -> dict[int, int]:
    controls = [entity for entity in np.flatnonzero(game.side) if game.alive[entity]]
    answer = await BossAgent(context()).on_tick(tick_of(game, controls))
    assert isinstance(answer, TickOutput)
    return {command.entity: command.action for command in answer.commands}


async def test_a_boss_strikes_with_the_strongest_skill_that_reaches() -> None:
    assert await bosses(arena((1, 1), (1, 2))) == {1: FIRST_SKILL + 1}
    assert await bosses(arena((1, 1), (1, 4))) == {1: FIRST_SKILL}


async def test_a_boss_walks_to_the_nearest_living_player() -> None:
    game = arena((7, 5), (0, 5), (0, 0), players=2)
    assert await bosses(game) == {2: 2}
    game.health[1] = 0
    game.step(await bosses(game))
    assert np.abs(game.place[2] - game.place[0]).sum() == 11


async def test_a_boss_that_cannot_come_nearer_stays() -> None:
    game = arena((7, 5), (0, 0), (1, 0))
    game.place[0] = 7, 0
    assert (await bosses(game))[1] == STAY


async def test_each_living_boss_gets_a_command() -> None:
    game = arena((7, 5), (0, 0), (0, 5))
    assert set(await bosses(game)) == {1, 2}
    game.health[1] = 0
    assert set(await bosses(game)) == {2}


async def test_the_observer_waits_for_every_living_player_and_counts() -> None:
    game = arena((7, 5), (0, 5), (5, 5), (0, 0), players=3)
    game.health[2] = 0
    agent = ObserverAgent(context())
    ticking = asyncio.create_task(agent.on_tick(tick_of(game, [])))  # type: ignore[arg-type]
    for entity in (1, 0):
        await asyncio.sleep(0)
        assert not ticking.done()
        agent.context.board.put(action_name(entity), STAY)
    assert await ticking == TickOutput()
    counted = await agent.on_episode(stop_of(game, []), EndCause.STOP)
    assert counted == StopOutput(ticks=1, players_lost=1, actions=2)


async def test_what_the_observer_counted_moves_with_it() -> None:
    agent, moved = ObserverAgent(context()), ObserverAgent(context())
    agent.context.board.put(action_name(0), STAY)
    await agent.on_tick(tick_of(arena((7, 5), (0, 0)), []))
    await moved.load_state_dict(unpack(pack(agent.state_dict())))
    assert await moved.on_episode(StopInput(), EndCause.STOP) == StopOutput(ticks=1, actions=1)


@pytest.mark.parametrize("agent", [BossAgent, ObserverAgent])
async def test_a_payload_that_is_no_tick_is_refused(agent: type[BossAgent]) -> None:
    with pytest.raises(BadPayloadError, match="a tick of the arena is a TickInput, got dict"):
        await agent(context()).on_tick({})
