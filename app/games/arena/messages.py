"""What the arena's game core tells its agents."""

from collections.abc import Sequence

from app.games.arena.arena_pb2 import Control, Entity, StopInput, TickInput
from app.games.arena.arena_pb2 import Skill as SkillMessage
from app.games.arena.game import Arena


def tick_of(arena: Arena, controls: Sequence[int], reward: float = 0.0) -> TickInput:
    """Returns the state of a game for an agent that decides for ``controls``.

    Args:
      arena: The game.
      controls: Entities; none for an observer.
      reward: Of the action before.
    """
    setup = arena.setup
    return TickInput(
        tick=arena.tick,
        width=setup.width,
        height=setup.height,
        skills=[
            SkillMessage(reach=s.reach, power=s.power, cooldown_ticks=s.cooldown_ticks, heals=s.heals)
            for s in setup.skills
        ],
        entities=[_entity(arena, number) for number in range(arena.side.size)],
        controls=[Control(entity=number, legal=arena.legal(number).tolist()) for number in controls],
        reward=reward,
    )


def stop_of(arena: Arena, controls: Sequence[int], reward: float = 0.0) -> StopInput:
    """Returns how the game ended for an agent; for a player who died it is over though the others play on."""
    terminated = arena.terminated or not arena.alive[list(controls)].all()
    return StopInput(last=tick_of(arena, controls, reward), terminated=terminated, truncated=not terminated)


def _entity(arena: Arena, number: int) -> Entity:
    x, y = arena.place[number].tolist()
    return Entity(
        id=number,
        side=int(arena.side[number]),  # type: ignore[arg-type]  # The stub wants the enum's own type.
        x=x,
        y=y,
        health=int(arena.health[number]),
        max_health=int(arena.max_health[number]),
        waits_ticks=arena.waits[number].tolist(),
    )
