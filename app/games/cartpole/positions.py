"""CartPole whose velocities are hidden: what is seen at one tick does not tell what to do."""

from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.classic_control import CartPoleEnv
from numpy.typing import NDArray

ENV_ID: Final = "sparring/CartPolePositions-v1"
"""What it is registered as where this module is imported:
``app.games.cartpole.positions:sparring/CartPolePositions-v1``."""
SHOWN: Final = (0, 2)
"""Cart position and pole angle."""
LONGEST_TICKS: Final = 500


class Positions(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Shows cart position and pole angle alone, [2]."""

    def __init__(self, env: "gymnasium.Env[Any, Any]") -> None:
        """Wraps CartPole."""
        super().__init__(env)
        self.observation_space = spaces.Box(-np.inf, np.inf, (len(SHOWN),), np.float32)

    def observation(self, observation: Any) -> NDArray[np.float32]:
        """Returns what is shown of an observation."""
        shown: NDArray[np.float32] = observation[list(SHOWN)]
        return shown


def make(**options: Any) -> Positions:
    """Returns the environment, whose games have no longest time of their own."""
    return Positions(CartPoleEnv(**options))


gymnasium.register(ENV_ID, entry_point="app.games.cartpole.positions:make", max_episode_steps=LONGEST_TICKS)
