"""Proofs in a short form: the fewest steps after which a sound algorithm is told from one with a fault."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from app.errors import NonFiniteLossError

from .experts import Wanders, balances, recorded
from .imitating import imitated
from .learning import Learning
from .teaching import spec_in, taught

if TYPE_CHECKING:
    from app.types import Rows

NEVER = 1e9
"""Mean return of training games at which nothing is evaluated before the end."""


@dataclass(frozen=True, slots=True)
class Played:
    """Learns from games that are played meanwhile."""

    config: str
    env_steps: int
    line: float
    """Mean return of evaluated games that a sound algorithm reaches, and one with a fault does not."""
    changes: tuple[str, ...] = ()

    def mean_return(self) -> float:
        """Returns that of evaluated games; minus infinity where learning broke down."""
        try:
            return Learning(self.config, 0, changes=self.changes).run(self.env_steps, NEVER).mean_return
        except NonFiniteLossError:
            return float("-inf")


@dataclass(frozen=True, slots=True)
class Taught:
    """Learns from recorded games."""

    config: str
    optimizer_steps: int
    line: float
    expert_games: int
    other_games: int = 0

    def mean_return(self) -> float:
        """Returns that of evaluated games; minus infinity where learning broke down."""
        try:
            return taught(self.config, self._rows(), self.optimizer_steps).mean_return
        except NonFiniteLossError:
            return float("-inf")

    def _rows(self) -> "Rows":
        spec = spec_in(self.config)
        rows = recorded(spec, balances, self.expert_games, seed=1)[0]
        if not self.other_games:
            return rows
        other = recorded(spec, Wanders(seed=0), self.other_games, seed=2)[0]
        return {name: np.concatenate([rows[name], other[name]]) for name in rows}


@dataclass(frozen=True, slots=True)
class Imitated:
    """Learns by GAIL from games that pay nothing."""

    config: str
    env_steps: int
    line: float
    expert_games: int

    def mean_return(self) -> float:
        """Returns that of evaluated games; minus infinity where learning broke down."""
        try:
            return imitated(self.config, 0, self.expert_games, self.env_steps).mean_return
        except NonFiniteLossError:
            return float("-inf")


Short = Played | Taught | Imitated

STALE = ("trainers.main.publish_every_updates=4",)
PPO = Played("rl.yaml", 14_000, 150)
A2C = Played("a2c.yaml", 30_000, 120)
IMPALA = Played("impala.yaml", 30_000, 120, STALE)
APPO = Played("appo.yaml", 24_000, 120, STALE)
TRPO = Played("trpo.yaml", 14_000, 130)
DQN = Played("dqn.yaml", 10_000, 100)
SAC = Played("sac_discrete.yaml", 8_000, 120)
SAC_OF_NUMBERS = Played("sac_pendulum.yaml", 5_000, -500)
TD3 = Played("td3_pendulum.yaml", 9_000, -700)
LOCKS = Played("ppo_locks.yaml", 8_000, 5.0)
BC = Taught("imitation.yaml", 600, 300, 10)
CQL = Taught("cql.yaml", 1_500, 120, 2, 200)
IQL = Taught("iql.yaml", 1_500, 120, 2, 200)
GAIL = Imitated("gail.yaml", 40_000, 300, 20)
SHORTS: tuple[Short, ...] = (PPO, A2C, IMPALA, APPO, TRPO, DQN, SAC, SAC_OF_NUMBERS, TD3, LOCKS, BC, CQL, IQL, GAIL)
