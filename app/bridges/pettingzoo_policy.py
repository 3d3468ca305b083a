"""The service as a policy for loops over PettingZoo environments."""

import secrets
from collections import Counter
from collections.abc import Mapping
from typing import Any

from app.bridges.policy import ServicePolicy
from app.client.environments import ActionReader, action_reader, reward_of
from app.client.multi_agent import split_seen
from app.client.seats import EVERYBODY, Seats
from app.client.sync import Client


class _Match(ServicePolicy[str]):
    """What both kinds of environments have in common: one match after the other, a session for each agent."""

    def __init__(
        self, client: Client, env: Any, seats: Seats | None = None, options: Mapping[str, object] | None = None
    ) -> None:  # PettingZoo's games have no types.
        """Makes the policy of an environment.

        Args:
          client: The service, and why is played.
          env: Whose actions are wanted.
          seats: Which agent of the service plays for which of the environment, ``*`` being all others; None: each for
            itself.
          options: Body of each start, the agent's.
        """
        super().__init__(client, options, self._session)
        self._env, self._seats = env, dict(seats or {})
        self._prefix = secrets.token_hex(6)
        self._matches = 0
        self._sessions: Counter[str] = Counter()
        self._readers: dict[str, ActionReader] = {}

    def _new_match(self) -> None:
        """Leaves the match that is under way, as truncated, and begins the next."""
        for agent in self._env.possible_agents if hasattr(self._env, "possible_agents") else self._env.agents:
            self._players.leave(agent, None, truncated=True)
        self._matches += 1
        self._sessions.clear()

    def _session(self, agent: str) -> str:
        """Returns an id: by its end the service knows who plays, and by its beginning with whom."""
        player = self._seats.get(agent, self._seats.get(EVERYBODY, agent))
        number = self._sessions[player]
        self._sessions[player] += 1
        return f"{self._prefix}-{self._matches}-agent-{player}" + (f".{number}" if number else "")

    def _read(self, agent: str, action: object) -> Any:
        if agent not in self._readers:
            self._readers[agent] = action_reader(self._env.action_space(agent))
        return self._readers[agent](action)


class ParallelPolicy(_Match):
    """Plays a ``ParallelEnv``: ``actions = policy.begin(*env.reset())``, then ``policy.next(*env.step(actions))``."""

    def begin(self, observations: Mapping[str, Any], infos: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the first action of each agent; a match that is under way ends as truncated.

        Raises:
          ClientError: The service refused, or did not answer in time.
          BadActionError: An action does not fit its space.
        """
        self._new_match()
        for agent, observation in observations.items():
            seen, mask = split_seen(observation, infos.get(agent))
            self._players.look(agent, seen, action_mask=mask)
        return self._actions()

    def next(
        self,
        observations: Mapping[str, Any],
        rewards: Mapping[str, Any],
        terminated: Mapping[str, bool],
        truncated: Mapping[str, bool],
        infos: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Returns the action of each agent that plays on.

        Raises:
          ClientError: The service refused, or did not answer in time.
          BadActionError: An action does not fit its space.
        """
        for agent, observation in observations.items():
            seen, mask = split_seen(observation, infos.get(agent))
            reward = reward_of(float(rewards[agent]), infos.get(agent) or {})
            if terminated[agent] or truncated[agent]:
                ended, cut = bool(terminated[agent]), bool(truncated[agent])
                self._players.leave(agent, seen, reward, terminated=ended, truncated=cut)
            else:
                self._players.look(agent, seen, reward, mask)
        return self._actions()

    def _actions(self) -> dict[str, Any]:
        return {agent: self._read(agent, action) for agent, action in self._play().items()}


class TurnsPolicy(_Match):
    """Plays an ``AECEnv``: ``policy.begin()`` after its reset, then ``env.step(policy.next(agent, *env.last()))``."""

    def begin(self) -> None:
        """Begins a match; one that is under way ends as truncated."""
        self._new_match()

    def next(
        self, agent: str, observation: Any, reward: Any, terminated: bool, truncated: bool, info: Mapping[str, Any]
    ) -> Any | None:
        """Returns the action of the agent whose turn it is; None where its game is over, as PettingZoo wants it.

        Raises:
          ClientError: The service refused, or did not answer in time.
          BadActionError: The action does not fit its space.
        """
        seen, mask = split_seen(observation, info)
        brought = reward_of(float(reward), info)
        if terminated or truncated:
            self._players.leave(agent, seen, brought, terminated=bool(terminated), truncated=bool(truncated))
            self._play()
            return None
        self._players.look(agent, seen, brought, mask)
        return self._read(agent, self._play()[agent])
