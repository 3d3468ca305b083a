"""Locks that open in a certain order: a small Gymnasium game in which most moves are illegal in the end."""

from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

ENV_ID: Final = "sparring/Locks-v0"
"""What it is registered as where this module is imported: ``app.games.locks.env:sparring/Locks-v0``."""
LOCKS: Final = 6


class Locks(gymnasium.Env[NDArray[np.float32], Any]):
    """Six locks, each to be opened once; it pays to open the one of the smallest number that is still closed.

    An observation is which locks are closed, 1 or 0, and behind it their numbers in [0, 1], both [6]. A move opens a
    lock, and brings 1 if it was the right one, else 0. A lock that is open already must not be opened again: such a
    move ends the game. ``info["action_mask"]`` says what is allowed.
    """

    def __init__(self) -> None:
        """Makes a game that has not begun."""
        self.observation_space = spaces.Box(0.0, 1.0, (2 * LOCKS,), np.float32)
        self.action_space = spaces.Discrete(LOCKS)
        self.illegal_moves = 0
        """In all games so far."""
        self._closed = np.ones(LOCKS, bool)
        self._numbers = np.zeros(LOCKS)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Closes all locks and draws their numbers."""
        super().reset(seed=seed)
        self._closed[:] = True
        self._numbers = self.np_random.permutation(LOCKS) / (LOCKS - 1)
        return self._seen(), self._info()

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Opens a lock."""
        if not self._closed[action]:
            self.illegal_moves += 1
            return self._seen(), 0.0, True, False, self._info()
        reward = float(self._numbers[action] == self._numbers[self._closed].min())
        self._closed[action] = False
        return self._seen(), reward, not self._closed.any(), False, self._info()

    def _seen(self) -> NDArray[np.float32]:
        return np.concatenate([self._closed, self._numbers]).astype(np.float32)

    def _info(self) -> dict[str, Any]:
        """Returns what is allowed; everything where the game is over, since no mask may allow nothing."""
        return {"action_mask": self._closed.copy() if self._closed.any() else np.ones(LOCKS, bool)}


gymnasium.register(ENV_ID, entry_point="app.games.locks.env:Locks")
