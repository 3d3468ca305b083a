"""A corridor with a reward at each end, and each has a name."""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

CELLS = 7
LIMIT_TICKS = 30


class Corridor(gymnasium.Env[NDArray[np.float32], int]):
    """Begins in the middle; 0 goes left and 1 right. Who reaches an end is paid there, each tick costs nothing."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (CELLS,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self) -> None:
        self._cell = self._ticks = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self._cell, self._ticks = CELLS // 2, 0
        return self._seen(), {}

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        self._cell += 1 if action else -1
        self._ticks += 1
        rewards = {"left": float(self._cell == 0), "right": float(self._cell == CELLS - 1)}
        over = self._cell in (0, CELLS - 1)
        return self._seen(), sum(rewards.values()), over, self._ticks == LIMIT_TICKS, {"rewards": rewards}

    def _seen(self) -> NDArray[np.float32]:
        return np.eye(CELLS, dtype=np.float32)[self._cell]
