"""Pong for two as a PettingZoo environment."""

from typing import Any, ClassVar, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from app.games.pong.rules import ACTIONS, Rally

AGENTS: Final = ["player_0", "player_1"]
"""Left, and right."""
LONGEST_RALLY_TICKS: Final = 500
"""Ticks of a rally after which nobody gets its point: two who never miss would play for ever."""

Observations = dict[str, NDArray[np.float32]]


class Pong(ParallelEnv):  # type: ignore[misc]  # PettingZoo has no types that mypy reads.
    """Two agents at once; each point brings 1 to who made it and -1 to the other.

    Who has ``points`` first has won, and the game is over. Both see the court as if they stood at the left; see
    ``Rally.seen_by``. Rallies that are too long bring nothing; after the last of as many as could be needed without
    them the game is cut off.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "pong", "render_modes": []}

    def __init__(self, points: int = 1) -> None:
        """Makes a game.

        Args:
          points: How many win it.

        Raises:
          ValueError: There is none.
        """
        if points < 1:
            raise ValueError(f"points is {points}; allowed is at least 1")
        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []
        self.render_mode = None
        self._points = points
        self._spaces = dict.fromkeys(AGENTS, spaces.Box(-np.inf, np.inf, (6,), np.float32))
        self._actions = {agent: spaces.Discrete(ACTIONS) for agent in AGENTS}
        self._rng = np.random.default_rng(0)
        self._score = [0, 0]
        self._rallies = 0
        self._rally = Rally.served(self._rng)
        self._ticks = 0

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Returns what an agent may see."""
        return self._spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Returns what an agent may do: stay, up, down."""
        return self._actions[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, dict[str, Any]]]:
        """Begins a game; without a seed it goes on with the random numbers of the one before."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self.agents = list(AGENTS)
        self._score, self._rallies = [0, 0], 0
        self._serve()
        return self._seen(), {agent: {} for agent in AGENTS}

    def step(
        self, actions: dict[str, int]
    ) -> tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Plays a tick."""
        left, right = (int(actions[agent]) for agent in AGENTS)
        self._rally = self._rally.play(left, right)
        self._ticks += 1
        rewards = [0.0, 0.0]
        if self._rally.winner is not None:
            rewards = [1.0, -1.0] if self._rally.winner == 0 else [-1.0, 1.0]
            self._score[self._rally.winner] += 1
        rally_over = self._rally.winner is not None or self._ticks == LONGEST_RALLY_TICKS
        self._rallies += rally_over
        terminated = max(self._score) == self._points
        truncated = not terminated and self._rallies == 2 * self._points - 1
        if rally_over and not (terminated or truncated):
            self._serve()
        if terminated or truncated:
            self.agents = []
        return (
            self._seen(),
            dict(zip(AGENTS, rewards, strict=True)),
            dict.fromkeys(AGENTS, terminated),
            dict.fromkeys(AGENTS, truncated),
            {agent: {} for agent in AGENTS},
        )

    def _serve(self) -> None:
        self._rally, self._ticks = Rally.served(self._rng), 0

    def _seen(self) -> Observations:
        return {agent: self._rally.seen_by(side) for side, agent in enumerate(AGENTS)}
