"""The arena as a player's network sees it: one row an entity or skill, and a flag that tells which rows are there."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.errors import BadPayloadError
from app.games.arena.arena_pb2 import SIDE_BOSS, Entity, TickInput
from app.games.arena.game import FIRST_SKILL, MAX_BOSSES, MAX_PLAYERS, MAX_SKILLS

UNITS: Final = MAX_PLAYERS + MAX_BOSSES
"""Rows of players and bosses; behind them stand those of the skills."""
ROWS: Final = UNITS + MAX_SKILLS

FEATURES: Final = (
    "present", "is_self", "is_boss", "is_skill", "x", "y", "dx", "dy", "health", "max_health",
    "reach", "power", "cooldown", "wait", "heals",
)  # fmt: skip
"""Columns: a unit leaves those from ``reach`` on at 0, a skill those from ``x`` to ``max_health``."""

HEALTH_SCALE: Final = 100.0
DISTANCE_SCALE: Final = 8.0
TICKS_SCALE: Final = 4.0
POWER_SCALE: Final = 10.0
"""Sizes that make features of about 1."""


class Seen(NamedTuple):
    """What the network is asked."""

    observation: NDArray[np.float32]
    """[rows, features]; absent rows are 0."""
    legal: list[bool]
    """Allowed actions, those of absent skills false, [actions]."""


def observe(tick: TickInput) -> Seen:
    """Returns what the one entity that the tick lets decide sees; a dead one sees the arena without itself.

    Raises:
      BadPayloadError: The tick has not exactly one control, or is of no arena that fits the rows.
    """
    if len(tick.controls) != 1:
        raise BadPayloadError(f"a player's tick has one control, got {len(tick.controls)}")
    control = tick.controls[0]
    me = next((entity for entity in tick.entities if entity.id == control.entity), None)
    if me is None:
        raise BadPayloadError(f"the control is for entity {control.entity}, which is not among the entities")
    _check(tick, me, len(control.legal))
    rows = np.zeros((ROWS, len(FEATURES)), np.float32)
    for row, entity in zip(rows, (entity for entity in tick.entities if entity.health), strict=False):
        _fill_unit(row, entity, me, tick)
    for row, skill, wait in zip(rows[UNITS:], tick.skills, me.waits_ticks, strict=False):
        row[[0, 3]] = 1.0
        row[10:] = (
            skill.reach / DISTANCE_SCALE,
            skill.power / POWER_SCALE,
            skill.cooldown_ticks / TICKS_SCALE,
            wait / TICKS_SCALE,
            float(skill.heals),
        )
    absent = MAX_SKILLS - len(tick.skills)
    return Seen(rows, [*control.legal, *[False] * absent])


def _fill_unit(row: NDArray[np.float32], entity: Entity, me: Entity, tick: TickInput) -> None:
    row[:10] = (
        1.0,
        float(entity.id == me.id),
        float(entity.side == SIDE_BOSS),
        0.0,
        entity.x / tick.width,
        entity.y / tick.height,
        (entity.x - me.x) / DISTANCE_SCALE,
        (entity.y - me.y) / DISTANCE_SCALE,
        entity.health / HEALTH_SCALE,
        entity.max_health / HEALTH_SCALE,
    )


def _check(tick: TickInput, me: Entity, flags: int) -> None:
    """Raises where the tick cannot be seen as it is."""
    units, skills = sum(entity.health > 0 for entity in tick.entities), len(tick.skills)
    if units > UNITS or skills > MAX_SKILLS:
        raise BadPayloadError(
            f"the arena has {units} living entities and {skills} skills; allowed are {UNITS} and {MAX_SKILLS}"
        )
    if flags != FIRST_SKILL + skills or len(me.waits_ticks) != skills:
        raise BadPayloadError(
            f"entity {me.id} has {flags} legal flags and {len(me.waits_ticks)} waits_ticks; "
            f"allowed are {FIRST_SKILL + skills} and {skills}"
        )
    if not (tick.width and tick.height):
        raise BadPayloadError(f"the arena is {tick.width} × {tick.height} cells; allowed are positive sizes")
