"""The service as a policy for loops over dm_env environments."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from app.bridges.policy import ServicePolicy
from app.client.dm_environment import ended_by_rules, space_of
from app.client.environments import action_reader
from app.client.sync import Client

if TYPE_CHECKING:
    import dm_env

THE_ONE: Final = 0
"""Who plays: a dm_env has one."""


class DmEnvPolicy(ServicePolicy[int]):
    """Plays a ``dm_env.Environment``: ``action = policy.next(env.reset())``, then ``policy.next(env.step(action))``."""

    def __init__(self, client: Client, env: "dm_env.Environment", options: Mapping[str, object] | None = None) -> None:
        """Makes the policy of an environment.

        Args:
          client: The service, and why is played.
          env: Whose actions are wanted.
          options: Body of each start, the agent's.

        Raises:
          ConfigError: The environment's action has no space.
        """
        super().__init__(client, options)
        self._read = action_reader(space_of(env.action_spec()))

    def next(self, timestep: "dm_env.TimeStep") -> Any | None:
        """Returns the action behind a time step; None behind the last of an episode.

        A first one begins an episode, and ends as truncated what was under way.

        Raises:
          ClientError: The service refused, or did not answer in time.
          BadActionError: The action does not fit the environment.
        """
        reward = float(timestep.reward or 0.0)  # The first one has none.
        if timestep.last():
            ended = ended_by_rules(timestep)
            self._players.leave(THE_ONE, timestep.observation, reward, terminated=ended, truncated=not ended)
            self._play()
            return None
        if timestep.first():
            self._players.leave(THE_ONE, None, truncated=True)
        self._players.look(THE_ONE, timestep.observation, reward)
        return self._read(self._play()[THE_ONE])
