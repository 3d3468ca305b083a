"""An environment whose every observation, reward and end follow from its seed."""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from .fake_service import FakeSession


class Counting(gymnasium.Env[NDArray[np.float32], Any]):
    """Seed s: observes [s, t], rewards the action of step t with 10 t + action, lasts 2 + s % 3 steps.

    Even seeds end by termination, odd ones by truncation.
    """

    def __init__(self, boxed: bool = False) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,))
        self.action_space = gymnasium.spaces.Box(-9, 9, (1, 1)) if boxed else gymnasium.spaces.Discrete(4)
        self.buffer = np.zeros(2, np.float32)  # Handed out again and again, as some environments do.

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.seed, self.t = seed or 0, 0
        self.buffer[:] = self.seed, 0
        return self.buffer, {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], Any, Any, Any, dict[str, Any]]:
        if isinstance(self.action_space, gymnasium.spaces.Box):
            if not self.action_space.contains(action):
                raise ValueError(f"not a float32 array [1, 1]: {action!r}")
            action = action.item()
        reward = np.float64(10 * self.t + action)
        self.t += 1
        self.buffer[1] = self.t
        over = self.t == length(self.seed)
        return self.buffer, reward, np.bool_(over and self.seed % 2 == 0), np.bool_(over and self.seed % 2 == 1), {}


def length(seed: int) -> int:
    """Returns the steps of the episode."""
    return 2 + seed % 3


def action_at(session: FakeSession) -> int:
    """Plays 1, 2, 3, 1, 2, 3…"""
    return 1 + (len(session.bodies("tick")) - 1) % 3


def expected_steps(seed: int, options: dict[str, Any] | None = None) -> list[tuple[str, int, Any]]:
    """Returns what the service must see of the episode: kind, seq and body of each step."""
    steps: list[tuple[str, int, Any]] = [("start", 0, options or {})]
    rewards = [0.0] + [10.0 * t + 1 + t % 3 for t in range(length(seed))]
    steps += [("tick", t + 1, {"observation": [seed, t], "reward": rewards[t]}) for t in range(length(seed))]
    end = {"terminated": seed % 2 == 0, "truncated": seed % 2 == 1}
    steps.append(("stop", len(steps), {"observation": [seed, length(seed)], "reward": rewards[-1], **end}))
    return steps


def expected_return(seed: int) -> float:
    """Returns the sum of rewards of the episode."""
    return sum(10.0 * t + 1 + t % 3 for t in range(length(seed)))


gymnasium.register(id="Counting-v0", entry_point=Counting)
gymnasium.register(id="CountingBox-v0", entry_point=Counting, kwargs={"boxed": True})
