"""The rules: apples fall, one after another, and a basket catches them."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

LEFT, STAY, RIGHT = range(3)
WIDTH, HEIGHT, APPLES = 7, 6, 10


class Apples(gymnasium.Env[NDArray[np.float32], int]):
    """Each apple that is caught brings 1, and a game has ten. Seen are basket, apple and height, from -1 to 1, [3]."""

    def __init__(self) -> None:
        self.observation_space, self.action_space = Box(-1, 1, (3,), np.float32), Discrete(3)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.basket, self.apples = WIDTH // 2, APPLES
        self.apple, self.height = int(self.np_random.integers(WIDTH)), HEIGHT
        return self._seen(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.basket = min(max(self.basket + action - STAY, 0), WIDTH - 1)
        self.height -= 1
        reward = float(self.height == 0 and self.apple == self.basket)
        if self.height == 0:
            self.apples -= 1
            self.apple, self.height = int(self.np_random.integers(WIDTH)), HEIGHT
        return self._seen(), reward, self.apples == 0, False, {}

    def _seen(self) -> NDArray[np.float32]:
        whole = np.array([WIDTH - 1, WIDTH - 1, HEIGHT])
        return (2 * np.array([self.basket, self.apple, self.height]) / whole - 1).astype(np.float32)


gymnasium.register("mygame/Apples-v0", Apples)
