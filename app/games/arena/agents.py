"""The arena's agents: a player that learns, bosses that follow a script, and an observer that only counts."""

from typing import cast

from app.agents.agent import Agent
from app.agents.gym_agent import GymAgent
from app.errors import BadPayloadError
from app.games.arena.arena_pb2 import (
    SIDE_BOSS,
    SIDE_PLAYER,
    Command,
    Control,
    Entity,
    StopInput,
    StopOutput,
    TickInput,
    TickOutput,
)
from app.games.arena.game import FIRST_SKILL, MOVES, STAY
from app.games.arena.observation import observe
from app.sessions.session import EndCause
from app.wire.payload import Payload


def action_name(entity: int) -> str:
    """Returns the blackboard's name for what a player has decided in this frame."""
    return f"action/{entity}"


class ArenaAgent(GymAgent):
    """Decides for one player, and learns as any ``GymAgent`` does; the start carries the same options, as JSON."""

    codec = "proto"
    tick_input = TickInput
    tick_output = TickOutput
    stop_input = StopInput

    async def on_tick(self, payload: Payload) -> Payload:
        """Returns the player's command and tells it to the other agents of the game."""
        tick = _tick(payload)
        seen = observe(tick)
        asked = {"observation": seen.observation, "reward": tick.reward, "action_mask": seen.legal}
        answer = cast("dict[str, int]", await super().on_tick(cast("Payload", asked)))
        entity, action = tick.controls[0].entity, answer["action"]
        self.context.board.put(action_name(entity), action)
        return TickOutput(commands=[Command(entity=entity, action=action)])

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        """Ends the episode."""
        if not isinstance(payload, StopInput):
            return await super().on_episode(payload, cause)
        ended: dict[str, object] = {"terminated": payload.terminated, "truncated": payload.truncated}
        if payload.HasField("last"):
            ended["observation"] = observe(payload.last).observation
            ended["reward"] = payload.last.reward
        return await super().on_episode(cast("Payload", ended), cause)


class BossAgent(Agent):
    """Decides for all bosses: strikes with the strongest skill that reaches a player, else walks to the nearest."""

    codec = "proto"
    tick_input = TickInput
    tick_output = TickOutput
    stop_input = StopInput

    async def on_tick(self, payload: Payload) -> Payload:
        """Returns a command for each boss."""
        tick = _tick(payload)
        commands = [Command(entity=control.entity, action=_strike_or_walk(tick, control)) for control in tick.controls]
        return TickOutput(commands=commands)


class ObserverAgent(Agent):
    """Decides nothing: counts what happens, and answers the stop with it.

    It shows how an agent reads what the others of its game have decided in the same frame.
    """

    codec = "proto"
    tick_input = TickInput
    tick_output = TickOutput
    stop_input = StopInput
    stop_output = StopOutput

    ticks = 0
    actions = 0

    async def on_tick(self, payload: Payload) -> Payload:
        """Waits for the decisions of all living players and commands nothing."""
        for entity in _tick(payload).entities:
            if entity.side == SIDE_PLAYER and entity.health:
                await self.context.board.wait(action_name(entity.id))
                self.actions += 1
        self.ticks += 1
        return TickOutput()

    async def on_episode(self, payload: Payload, cause: EndCause) -> Payload:
        """Returns what was counted."""
        last = payload.last if isinstance(payload, StopInput) else TickInput()
        dead = [entity.side for entity in last.entities if not entity.health]
        return StopOutput(
            ticks=self.ticks,
            players_lost=dead.count(SIDE_PLAYER),
            bosses_lost=dead.count(SIDE_BOSS),
            actions=self.actions,
        )


def _tick(payload: Payload) -> TickInput:
    if not isinstance(payload, TickInput):
        raise BadPayloadError(f"a tick of the arena is a TickInput, got {type(payload).__name__}")
    return payload


def _strike_or_walk(tick: TickInput, control: Control) -> int:
    strikes = [
        (skill.power, FIRST_SKILL + number)
        for number, skill in enumerate(tick.skills)
        if not skill.heals and control.legal[FIRST_SKILL + number]
    ]
    if strikes:
        return max(strikes)[1]
    me = next(entity for entity in tick.entities if entity.id == control.entity)
    players = [entity for entity in tick.entities if entity.side == SIDE_PLAYER and entity.health]
    goal = min(players, key=lambda player: _distance(me.x, me.y, player), default=me)
    steps = [(_distance(me.x, me.y, goal), STAY)]
    for number, (dx, dy) in enumerate(MOVES, start=1):
        if control.legal[number]:
            steps.append((_distance(me.x + dx, me.y + dy, goal), number))
    return min(steps)[1]


def _distance(x: int, y: int, goal: Entity) -> int:
    return abs(goal.x - x) + abs(goal.y - y)
