"""Rules of the arena: players and bosses on a grid, who move and use skills all at once, tick by tick."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

MAX_PLAYERS: Final = 4
MAX_BOSSES: Final = 2
MAX_SKILLS: Final = 4

STAY: Final = 0
MOVES: Final = ((0, -1), (0, 1), (-1, 0), (1, 0))
"""Steps of the actions 1 to 4: up, down, left, right."""
FIRST_SKILL: Final = 1 + len(MOVES)
"""Action that uses the first skill."""
MAX_ACTIONS: Final = FIRST_SKILL + MAX_SKILLS

PLAYER_HEALTH: Final = 40
BOSS_HEALTH_PER_PLAYER: Final = 25
"""So that a boss is as hard for four players as for one. Players who strike and walk by the bosses' own script win 85 %
of random setups, and those who play by chance 14 %."""

Counts = NDArray[np.int64]


class Side(IntEnum):
    """Whom an entity fights for."""

    PLAYER = 0
    BOSS = 1


@dataclass(frozen=True, slots=True)
class Skill:
    """What an entity can do to another; it chooses its target itself."""

    reach: int
    """Largest distance to the target, columns and rows together."""
    power: int
    """Health that it takes or gives."""
    cooldown_ticks: int
    """Ticks from one use to the next; 1 can be used in every tick."""
    heals: bool = False
    """It gives health to the ally that lacks the most, instead of taking it from the nearest enemy."""


@dataclass(frozen=True, slots=True)
class Setup:
    """Who meets whom, and where."""

    players: int
    bosses: int
    skills: tuple[Skill, ...]
    """The same for all."""
    width: int = 8
    height: int = 6
    max_ticks: int = 100
    """Ticks after which the game is cut."""

    def __post_init__(self) -> None:
        inside = 1 <= self.players <= MAX_PLAYERS and 1 <= self.bosses <= MAX_BOSSES
        if not (inside and 1 <= len(self.skills) <= MAX_SKILLS and self.max_ticks >= 1):
            raise ValueError(
                f"an arena has 1 to {MAX_PLAYERS} players, 1 to {MAX_BOSSES} bosses, 1 to {MAX_SKILLS} skills and at "
                f"least one tick, got {self}"
            )
        if self.width * self.height < self.players + self.bosses:
            raise ValueError(f"{self.players + self.bosses} entities do not fit {self.width} × {self.height} cells")

    @classmethod
    def draw(cls, rng: np.random.Generator) -> "Setup":
        """Returns a random setup; its first skill always takes health, so that the game can be won."""
        count = int(rng.integers(1, MAX_SKILLS + 1))
        skills = [
            Skill(
                reach=int(rng.integers(1, 4)),
                power=int(rng.integers(5, 13)),
                cooldown_ticks=int(rng.integers(1, 5)),
                heals=bool(number > 0 and rng.random() < 1 / 3),
            )
            for number in range(count)
        ]
        players, bosses = int(rng.integers(1, MAX_PLAYERS + 1)), int(rng.integers(1, MAX_BOSSES + 1))
        return cls(players, bosses, tuple(skills))


class Arena:
    """One game; entities are numbered, players first. All arrays are indexed by them and must not be changed."""

    def __init__(self, setup: Setup, rng: np.random.Generator) -> None:
        """Puts every entity at full health on a cell of its own; nothing is random after that."""
        self.setup = setup
        self.tick = 0
        self.side: Counts = np.array([Side.PLAYER] * setup.players + [Side.BOSS] * setup.bosses, np.int64)
        boss_health = BOSS_HEALTH_PER_PLAYER * setup.players // setup.bosses
        self.max_health: Counts = np.where(self.side == Side.PLAYER, PLAYER_HEALTH, boss_health)
        self.health = self.max_health.copy()
        cells = rng.choice(setup.width * setup.height, self.side.size, replace=False)
        self.place: Counts = np.stack([cells % setup.width, cells // setup.width], axis=1)
        """Column and row, [N, 2]."""
        self.waits: Counts = np.zeros((self.side.size, len(setup.skills)), np.int64)
        """Ticks until each skill can be used again, [N, skills]."""
        self.lost: Counts = np.zeros_like(self.health)
        """Health that was taken in the last tick."""
        self.gained: Counts = np.zeros_like(self.health)
        """Health that was given in the last tick."""

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Tells who is in the game, [N]."""
        return self.health > 0

    @property
    def won(self) -> bool:
        """Tells whether the players have outlived the bosses."""
        return self._lives(Side.PLAYER) and not self._lives(Side.BOSS)

    @property
    def terminated(self) -> bool:
        """Tells whether one side is gone."""
        return not (self._lives(Side.PLAYER) and self._lives(Side.BOSS))

    @property
    def truncated(self) -> bool:
        """Tells whether the game was cut at its last tick."""
        return self.tick >= self.setup.max_ticks and not self.terminated

    def legal(self, entity: int) -> NDArray[np.bool_]:
        """Returns the actions that the rules allow, [5 + skills]: stay always, none else to the dead."""
        flags = np.zeros(FIRST_SKILL + len(self.setup.skills), bool)
        flags[STAY] = True
        if self.alive[entity]:
            for number, move in enumerate(MOVES, start=1):
                flags[number] = self._free(self.place[entity] + move)
            for number in range(len(self.setup.skills)):
                flags[FIRST_SKILL + number] = self._target(entity, number) is not None
        return flags

    def step(self, actions: Mapping[int, int]) -> None:
        """Plays one tick: first all skills, on the places before it, then the moves of the living, in their order.

        Args:
          actions: Action of each entity; one that is left out stays.

        Raises:
          ValueError: The game is over, or an action is not legal.
        """
        if self.terminated or self.truncated:
            raise ValueError(f"the game is over after tick {self.tick}")
        for entity, action in actions.items():
            legal = self.legal(entity)
            if not (0 <= action < legal.size and legal[action]):
                raise ValueError(f"entity {entity} chose action {action}; legal are {np.flatnonzero(legal).tolist()}")
        used = {entity: action - FIRST_SKILL for entity, action in actions.items() if action >= FIRST_SKILL}
        self._use(used)
        for entity, action in sorted(actions.items()):
            if STAY < action < FIRST_SKILL and self.alive[entity]:
                self._move(entity, MOVES[action - 1])
        self.tick += 1

    def reward(self, entity: int) -> float:
        """Returns a player's reward for the last tick.

        It is the share of the bosses' health that all players took, less the share of its own health that it lost,
        and 1 more when the game is won.
        """
        bosses = self.side == Side.BOSS
        taken = float(self.lost[bosses].sum()) / float(self.max_health[bosses].sum())
        return taken - float(self.lost[entity]) / float(self.max_health[entity]) + (1.0 if self.won else 0.0)

    def _lives(self, side: Side) -> bool:
        return bool((self.alive & (self.side == side)).any())

    def _use(self, used: Mapping[int, int]) -> None:
        """Takes and gives health: what is taken counts first, and nobody who dies of it is healed."""
        taken, given = np.zeros_like(self.health), np.zeros_like(self.health)
        for entity, number in used.items():
            target, skill = self._target(entity, number), self.setup.skills[number]
            (given if skill.heals else taken)[target] += skill.power
        left = np.maximum(self.health - taken, 0)
        healed = np.where(left > 0, np.minimum(left + given, self.max_health), 0)
        self.lost, self.gained, self.health = self.health - left, healed - left, healed
        self.waits = np.maximum(self.waits - 1, 0)
        for entity, number in used.items():
            self.waits[entity, number] = self.setup.skills[number].cooldown_ticks - 1

    def _target(self, entity: int, number: int) -> int | None:
        """Returns whom a skill would reach; None where it cannot be used now."""
        if self.waits[entity, number]:
            return None
        skill = self.setup.skills[number]
        distance = np.abs(self.place - self.place[entity]).sum(axis=1)
        ally = self.side == self.side[entity]
        missing = self.max_health - self.health
        able = self.alive & (distance <= skill.reach) & ((ally & (missing > 0)) if skill.heals else ~ally)
        if not able.any():
            return None
        worth = missing if skill.heals else -distance
        return int(np.where(able, worth, np.iinfo(np.int64).min).argmax())  # The first among equals.

    def _free(self, place: Counts) -> bool:
        x, y = place
        taken = bool((self.alive & (self.place == place).all(axis=1)).any())
        return bool(0 <= x < self.setup.width and 0 <= y < self.setup.height) and not taken

    def _move(self, entity: int, step: tuple[int, int]) -> None:
        """Moves unless another has taken the cell in this tick."""
        goal = self.place[entity] + step
        if self._free(goal):
            self.place[entity] = goal
