"""A game in the words of dm_env."""

from typing import Any

import dm_env
import numpy as np
from dm_env import specs


class Catch(dm_env.Environment):  # type: ignore[misc]  # dm_env has no types that mypy reads.
    """Three steps; action 1 is worth a point. Odd episodes are cut after two steps."""

    def __init__(self) -> None:
        self.episodes = self.tick = 0
        self.actions: list[Any] = []

    def reset(self) -> Any:
        self.episodes, self.tick = self.episodes + 1, 0
        return dm_env.restart(self._seen())

    def step(self, action: Any) -> Any:
        self.tick += 1
        self.actions.append(action)
        reward = float(action == 1)
        if self.episodes % 2 == 0 and self.tick == 2:
            return dm_env.truncation(reward, self._seen())
        if self.tick == 3:
            return dm_env.termination(reward, self._seen())
        return dm_env.transition(reward, self._seen())

    def observation_spec(self) -> Any:
        return specs.Array((4,), np.float32)

    def action_spec(self) -> Any:
        return specs.DiscreteArray(2)

    def _seen(self) -> Any:
        return np.full(4, self.tick, np.float32)


def words() -> Any:
    """Returns no environment."""
    return "words"


def broken() -> Any:
    """Fails."""
    raise RuntimeError("no licence")
