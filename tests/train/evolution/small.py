"""Small evolutions in this process, and games of which nothing is to be learned."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from app.config.load import load
from app.config.root import ExperimentConfig
from train.evolution.play import Job, Played, Share, play

ES = Path(__file__).parents[3] / "configs" / "es.yaml"
SMALL = ("evolution.pairs=4", "evolution.tasks.pairs=2", "evolution.evaluation.games=3", "evolution.goal=null")


def small(*settings: str) -> ExperimentConfig:
    """Returns a config with a small population, and CartPole cut after 20 ticks."""
    return load(ES, [*SMALL, "evolution.episode_ticks=20", *settings])


class InTurn:
    """Plays shares in this process, one after the other."""

    def __init__(self) -> None:
        self.shares: list[Share] = []

    def play(self, job: Job, shares: Sequence[Share]) -> list[Played]:
        self.shares += shares
        return [play(job, share) for share in shares]


class Level(gymnasium.Env[Any, Any]):
    """A game whose observation and reward are what it was made with; it never ends by itself."""

    def __init__(self, size: int = 4, reward: float = 1.0) -> None:
        self.observation_space = gymnasium.spaces.Box(-1, 1, (size,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self._reward = reward

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return np.zeros(self.observation_space.shape or (), np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.reset()[0], self._reward, False, False, {}


LEVEL, THREE_NUMBERS, NO_NUMBER = "SparringLevel-v0", "SparringThreeNumbers-v0", "SparringNoNumber-v0"
gymnasium.register(LEVEL, Level)
gymnasium.register(THREE_NUMBERS, Level, kwargs={"size": 3})
gymnasium.register(NO_NUMBER, Level, kwargs={"reward": float("nan")})
