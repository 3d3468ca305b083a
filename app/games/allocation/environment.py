"""Allocation of resources by many agents, driven by events: whoever has a job sends it to one of several servers."""

from typing import Any, ClassVar, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv

from app.games.allocation.queues import Queues

SPEEDS: Final = (1.0, 2.0, 4.0, 8.0)
"""Work that each server does in a second: to spread jobs evenly drowns the slow ones."""
JOBS: Final = 200
"""Jobs of a game."""
MEASURED_S: Final = 1.0
"""Time constant with which an agent's view of a server fades towards the truth of its own last job there."""
LONGEST_S: Final = 5.0
"""Delays beyond it count as much: a bound of the reward."""


class Allocation(AECEnv):  # type: ignore[misc]  # PettingZoo has no types that mypy reads.
    """Agents act when a job arrives at them; the reward is shared: minus the mean delay of jobs since the last turn.

    An agent sees how long its own newest job took at each server and how long ago that was; it does not see the
    queues. ``state`` is what all queues hold, for a centralised critic.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "allocation", "is_parallelizable": False, "render_modes": []}

    def __init__(self, agents: int = 8, load: float = 0.7) -> None:
        """Makes a game.

        Args:
          agents: How many there are.
          load: Share of the servers' work that arrives.
        """
        super().__init__()
        self.possible_agents = [f"agent_{number}" for number in range(agents)]
        self.render_mode = None
        self._load = load
        seen = spaces.Box(0.0, np.inf, (2 * len(SPEEDS),), np.float32)
        self.observation_spaces = dict.fromkeys(self.possible_agents, seen)
        self.action_spaces = {agent: spaces.Discrete(len(SPEEDS)) for agent in self.possible_agents}
        self.state_space = spaces.Box(0.0, np.inf, (len(SPEEDS),), np.float32)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Returns what an agent may see."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Returns what an agent may do: the number of a server."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins a game with empty queues."""
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._queues = Queues(np.array(SPEEDS), len(self.agents), self._load, np.random.default_rng(seed))
        self._delays = np.zeros((len(self.agents), len(SPEEDS)), np.float32)
        self._asked_s = np.zeros((len(self.agents), len(SPEEDS)))
        self._jobs = 0
        self.agent_selection = self.possible_agents[self._queues.next_arrival()]

    def observe(self, agent: str) -> NDArray[np.float32]:
        """Returns the newest delay at each server, and how much that still counts: 1 now, 0 after long; [2 servers]."""
        number = self.possible_agents.index(agent)
        fresh = np.exp((self._asked_s[number] - self._queues.time_s) / MEASURED_S)
        known = np.where(self._asked_s[number] > 0, fresh, 0.0)
        return np.concatenate([self._delays[number], known]).astype(np.float32)

    def state(self) -> NDArray[np.float32]:
        """Returns how long a job would take at each server, [servers]."""
        return self._queues.waits_s().astype(np.float32)

    def step(self, action: int | None) -> None:
        """Sends the job of the agent whose turn it is to a server; then time passes until the next one arrives."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        server, number = int(action or 0), self.possible_agents.index(agent)
        self._cumulative_rewards[agent] = 0.0
        delay_s = self._queues.send(server)
        self._delays[number, server], self._asked_s[number, server] = delay_s, self._queues.time_s
        self._jobs += 1
        self.rewards = dict.fromkeys(self.agents, -min(delay_s, LONGEST_S) / JOBS)
        self._accumulate_rewards()
        if self._jobs == JOBS:
            self.truncations = dict.fromkeys(self.agents, True)
            return
        self.agent_selection = self.possible_agents[self._queues.next_arrival()]
