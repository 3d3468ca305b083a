"""Breakout from pixels: a Gymnasium environment over ale-py, with the frames that networks are used to."""

from collections import deque
from typing import Any, Final

import ale_py
import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

FRAMES: Final = 4
"""Newest frames of an observation, so that it shows where things move."""
SIZE: Final = 80
"""Edge of a frame."""
TOP: Final = 34
"""Rows of the screen above the field: score and border."""
SKIP: Final = 4
"""Frames that an action is repeated for."""
FIRE: Final = 1
MAX_TICKS: Final = 4500
"""Ticks after which a game is cut: five minutes of play."""


class Breakout(gymnasium.Env[NDArray[np.uint8], np.int64]):
    """Stay, right or left; the reward is the sign of the score, and a game has five lives.

    An observation is the newest four frames in grey, uint8 [4, 80, 80]. The ball is served by itself. With
    ``one_life`` a game ends with its first life, which teaches sooner that balls must not be lost.
    """

    def __init__(self, *, one_life: bool = False) -> None:
        """Makes a console.

        Args:
          one_life: Whether a game ends with its first life.
        """
        self._ale = gymnasium.make(
            "ALE/Breakout-v5", obs_type="grayscale", frameskip=SKIP, repeat_action_probability=0.0
        )
        self._one_life = one_life
        self._actions = (0, 2, 3)  # Of the console: nothing, right, left.
        self._frames: deque[NDArray[np.uint8]] = deque(maxlen=FRAMES)
        self._lives, self._ticks = 0, 0
        self.observation_space = spaces.Box(0, 255, (FRAMES, SIZE, SIZE), np.uint8)
        self.action_space = spaces.Discrete(len(self._actions))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Begins a game; after a random number of frames, so that games differ."""
        super().reset(seed=seed)
        screen, _ = self._ale.reset(seed=None if seed is None else seed % 2**31)
        for _ in range(int(self.np_random.integers(1, 30))):
            screen, *_ = self._ale.step(0)
        self._frames.extend([small(screen)] * FRAMES)
        self._ticks = 0
        self._serve()
        return np.stack(self._frames), {}

    def step(self, action: np.int64) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        """Plays four frames; a lost ball is followed by the next one."""
        screen, score, over, _, info = self._ale.step(self._actions[action])
        self._frames.append(small(screen))
        self._ticks += 1
        lost = info["lives"] < self._lives
        if lost and not over:
            self._serve()
        ended = bool(over or (lost and self._one_life))
        cut = self._ticks >= MAX_TICKS and not ended
        return np.stack(self._frames), float(np.sign(float(score))), ended, cut, {}

    def close(self) -> None:
        """Switches the console off."""
        self._ale.close()

    def _serve(self) -> None:
        screen, _, _, _, info = self._ale.step(FIRE)
        self._frames.append(small(screen))
        self._lives = info["lives"]


def small(screen: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Returns the field of a screen [210, 160] at half its size, [80, 80]: the brighter of each two by two points."""
    field = screen[TOP : TOP + 2 * SIZE].reshape(SIZE, 2, SIZE, 2)
    half: NDArray[np.uint8] = field.max(axis=(1, 3))
    return half


gymnasium.register_envs(ale_py)
ENTRY: Final = f"{__name__}:Breakout"
gymnasium.register("Breakout80-v0", entry_point=ENTRY)
gymnasium.register("BreakoutOneLife80-v0", entry_point=ENTRY, kwargs={"one_life": True})
