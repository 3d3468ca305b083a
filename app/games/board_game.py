"""Board games of two who move by turns as PettingZoo environments."""

from typing import Any, ClassVar, Final, Protocol, Self

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv

AGENTS: Final = ["player_0", "player_1"]
"""Who begins, and the other."""


class BoardPosition(Protocol):
    """A position as whoever moves next sees it; a value."""

    @classmethod
    def first(cls) -> Self:
        """Returns the one that a game begins with."""

    @property
    def legal(self) -> NDArray[np.bool_]:
        """Returns which moves are allowed, [moves]; none is when the game is over."""

    @property
    def over(self) -> bool:
        """Tells whether the game is over."""

    @property
    def lost(self) -> bool:
        """Tells whether the move that led here won."""

    def play(self, move: int, /) -> Self:
        """Returns the position behind a move, seen by the other player."""

    def swapped(self) -> Self:
        """Returns the position as the other player sees it, who does not move."""

    def planes(self) -> NDArray[np.float32]:
        """Returns what the mover sees."""


class BoardGame(AECEnv):  # type: ignore[misc]  # PettingZoo has no types that mypy reads.
    """Two agents by turns; 1 for a win, -1 for a loss, 0 for a draw. A game names its rules as ``position``.

    An observation is ``{"observation": planes, "action_mask": moves}``.
    """

    position: ClassVar[type[BoardPosition]]

    def __init__(self) -> None:
        super().__init__()
        self.possible_agents = list(AGENTS)
        self.render_mode = None
        self._position = self.position.first()
        moves = self._position.legal.size
        seen = spaces.Box(0.0, 1.0, self._position.planes().shape, np.float32)
        mask = spaces.Box(0, 1, (moves,), np.int8)
        self.observation_spaces = {a: spaces.Dict({"observation": seen, "action_mask": mask}) for a in AGENTS}
        self.action_spaces = {agent: spaces.Discrete(moves) for agent in AGENTS}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Returns what an agent may see."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Returns what an agent may do."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins a game; nothing in it is random."""
        self.agents = list(AGENTS)
        self.agent_selection = self._mover = AGENTS[0]
        self._position = self.position.first()
        self.rewards = dict.fromkeys(AGENTS, 0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in AGENTS}

    def observe(self, agent: str) -> dict[str, Any]:
        """Returns what an agent sees: who does not move sees its own side first as well."""
        own = self._position
        mine = own if agent == self._mover else own.swapped()
        mask = own.legal.astype(np.int8) if agent == self._mover else np.zeros(own.legal.size, np.int8)
        return {"observation": mine.planes(), "action_mask": mask}

    def step(self, action: int | None) -> None:
        """Plays a move for the agent whose turn it is.

        Raises:
          ValueError: The move is not allowed, or there is none such.
        """
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0
        self._position = self._position.play(int(action if action is not None else -1))
        other = self._mover = AGENTS[1 - AGENTS.index(agent)]
        self.rewards = dict.fromkeys(AGENTS, 0)
        if self._position.lost:
            self.rewards[agent], self.rewards[other] = 1, -1
        if self._position.over:
            self.terminations = dict.fromkeys(AGENTS, True)
        self._accumulate_rewards()
        self.agent_selection = other
