"""The rules: apples fall, one after another, and two baskets are after them."""

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv

LEFT, STAY, RIGHT = range(3)
WIDTH, HEIGHT, APPLES = 7, 6, 10
SEEN, MOVES = Box(-1, 1, (4,), np.float32), Discrete(3)


class Apples(ParallelEnv):  # type: ignore[misc]  # PettingZoo has no types.
    """A tenth to who catches an apple alone, from the other. Seen are own and other basket, apple and height, [4]."""

    metadata, possible_agents = {"name": "mygame"}, ["left", "right"]

    def observation_space(self, agent: str) -> Box:
        return SEEN

    def action_space(self, agent: str) -> Discrete:
        return MOVES

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        if seed is not None or not hasattr(self, "rng"):
            self.rng = np.random.default_rng(seed)
        self.agents, self.baskets, self.apples = list(self.possible_agents), [1, WIDTH - 2], APPLES
        self.apple, self.height = int(self.rng.integers(WIDTH)), HEIGHT
        return self._all(self._seen), self._all(lambda at: {})

    def step(self, actions: dict[str, int]) -> tuple[Any, Any, Any, Any, Any]:
        for at, agent in enumerate(self.possible_agents):
            self.baskets[at] = min(max(self.baskets[at] + actions[agent] - STAY, 0), WIDTH - 1)
        self.height -= 1
        caught = [0.1 * (self.height == 0 and self.apple == basket) for basket in self.baskets]
        if self.height == 0:
            self.apples -= 1
            self.apple, self.height = int(self.rng.integers(WIDTH)), HEIGHT
        over = self.apples == 0
        self.agents = [] if over else self.agents
        rewards, nothing = self._all(lambda at: caught[at] - caught[1 - at]), self._all(lambda at: {})
        return self._all(self._seen), rewards, self._all(lambda at: over), self._all(lambda at: False), nothing

    def _seen(self, at: int) -> Any:
        whole = np.array([WIDTH - 1, WIDTH - 1, WIDTH - 1, HEIGHT])
        seen = np.array([self.baskets[at], self.baskets[1 - at], self.apple, self.height])
        return (2 * seen / whole - 1).astype(np.float32)

    def _all(self, tell: Any) -> dict[str, Any]:
        return {agent: tell(at) for at, agent in enumerate(self.possible_agents)}
