"""Connect four as a PettingZoo environment."""

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from app.games.connect_four.rules import COLUMNS, ROWS, Position

AGENTS = ["player_0", "player_1"]
"""Who begins, and the other."""


class ConnectFour(AECEnv):  # type: ignore[misc]  # PettingZoo has no types that mypy reads.
    """Two agents by turns; 1 for a win, -1 for a loss, 0 for a draw.

    An observation is ``{"observation": planes, "action_mask": columns}``; see ``Position.planes``.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "connect_four", "is_parallelizable": False, "render_modes": []}

    def __init__(self) -> None:
        super().__init__()
        self.possible_agents = list(AGENTS)
        self.render_mode = None
        seen = spaces.Box(0.0, 1.0, (2, ROWS, COLUMNS), np.float32)
        mask = spaces.Box(0, 1, (COLUMNS,), np.int8)
        self.observation_spaces = {a: spaces.Dict({"observation": seen, "action_mask": mask}) for a in AGENTS}
        self.action_spaces = {agent: spaces.Discrete(COLUMNS) for agent in AGENTS}
        self._position = Position.first()

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Returns what an agent may see."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Returns what an agent may do."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins a game; nothing in it is random."""
        self.agents = list(AGENTS)
        self.agent_selection = AGENTS[0]
        self._position = Position.first()
        self.rewards = dict.fromkeys(AGENTS, 0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in AGENTS}

    def observe(self, agent: str) -> dict[str, Any]:
        """Returns what an agent sees: who does not move sees its own stones first as well."""
        own = self._position
        mine = own if agent == self._mover else Position(-own.stones, own.lost)
        mask = own.legal.astype(np.int8) if agent == self._mover else np.zeros(COLUMNS, np.int8)
        return {"observation": mine.planes(), "action_mask": mask}

    def step(self, action: int | None) -> None:
        """Plays a column for the agent whose turn it is.

        Raises:
          ValueError: The column is full, or there is none such.
        """
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0
        self._position = self._position.play(int(action if action is not None else -1))
        other = AGENTS[1 - AGENTS.index(agent)]
        self.rewards = dict.fromkeys(AGENTS, 0)
        if self._position.lost:
            self.rewards[agent], self.rewards[other] = 1, -1
        if self._position.over:
            self.terminations = dict.fromkeys(AGENTS, True)
        self._accumulate_rewards()
        self.agent_selection = other

    @property
    def _mover(self) -> str:
        return AGENTS[int((self._position.stones != 0).sum()) % 2]
