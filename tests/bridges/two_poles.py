"""A PettingZoo game of two agents, each with a pole of its own."""

from typing import Any, ClassVar

import gymnasium as gym
from pettingzoo import ParallelEnv


class TwoPoles(ParallelEnv):  # type: ignore[misc]  # PettingZoo is untyped.
    """Two games of CartPole at once; who drops the pole leaves."""

    metadata: ClassVar[dict[str, Any]] = {"name": "two_poles"}
    possible_agents: ClassVar[list[str]] = ["left", "right"]

    def __init__(self) -> None:
        self._poles = {agent: gym.make("CartPole-v1") for agent in self.possible_agents}

    def observation_space(self, agent: str) -> Any:
        return self._poles[agent].observation_space

    def action_space(self, agent: str) -> Any:
        return self._poles[agent].action_space

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        self.agents = list(self.possible_agents)
        begun = {agent: self._poles[agent].reset(seed=seed) for agent in self.agents}
        return {agent: seen for agent, (seen, _) in begun.items()}, {agent: info for agent, (_, info) in begun.items()}

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        found = {agent: self._poles[agent].step(action) for agent, action in actions.items()}
        seen, rewards, ended, cut, infos = ({agent: of[part] for agent, of in found.items()} for part in range(5))
        self.agents = [agent for agent in self.agents if not (ended[agent] or cut[agent])]
        return seen, rewards, ended, cut, infos
