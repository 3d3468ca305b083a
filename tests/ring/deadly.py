"""CartPoles: one whose process dies until it has died often enough, one that plays alone, one that never begins.

Named as ``deadly:SparringDeadly-v0``, ``deadly:SparringAlone-v0`` and ``deadly:SparringEndless-v0``.
"""

import os
import signal
import threading
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleEnv


def folder() -> Path:
    """Returns where each file is a death that is to come; ``playing`` is there while a game is played."""
    return Path(os.environ["SPARRING_HOME"]) / "deaths"


class Deadly(CartPoleEnv):
    """Dies once for each file ``death…``."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
        for death in folder().glob("death*"):
            try:
                death.unlink()
            except FileNotFoundError:
                continue  # Another process dies of it.
            os.kill(os.getpid(), signal.SIGKILL)
        return super().reset(seed=seed, options=options)


class Alone(CartPoleEnv):
    """Fails where another one is open in any process."""

    def __init__(self) -> None:
        super().__init__()
        self._file = folder() / "playing"
        self._file.touch(exist_ok=False)

    def close(self) -> None:
        self._file.unlink()


class Endless(CartPoleEnv):
    """Never begins."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
        threading.Event().wait(60)
        return super().reset(seed=seed, options=options)


gymnasium.register("SparringDeadly-v0", Deadly, max_episode_steps=60)
gymnasium.register("SparringAlone-v0", Alone, max_episode_steps=60)
gymnasium.register("SparringEndless-v0", Endless)
