"""PettingZoo environments: several agents in one game, all at once or by turns."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

from app.client.environments import ActionReader, Reward, action_reader, reward_of
from app.client.making import made_by
from app.errors import ConfigError

PREFIX: Final = "pettingzoo:"
"""What the name of an environment begins with that PettingZoo's interface describes."""


class Due(NamedTuple):
    """What an agent knows when it has to act."""

    observation: object
    action_mask: object
    """Choices that are allowed; None where all are."""
    reward: Reward
    """Since its last action."""


class Left(NamedTuple):
    """How an agent's game ended."""

    observation: object
    reward: Reward
    """Since its last action."""
    terminated: bool
    truncated: bool


class MultiAgentEnvironment(Protocol):
    """One game after another, with agents that come and go."""

    def restart(self, seed: int) -> None:
        """Begins a game."""

    def due(self) -> Mapping[str, Due]:
        """Returns the agents that have to act before the game goes on; none when it is over."""

    def left(self) -> Mapping[str, Left]:
        """Returns the agents whose game has ended since this was last asked."""

    def act(self, actions: Mapping[str, object]) -> None:
        """Takes the action of each agent that is due.

        Raises:
          BadActionError: One does not fit its action space.
        """


class _Adapter:
    """What both kinds of environments have in common."""

    def __init__(self, env: Any, *, with_state: bool = False) -> None:  # PettingZoo's games have no types.
        """Keeps an environment.

        Args:
          env: PettingZoo's.
          with_state: Whether the state of the whole game goes with each observation.
        """
        self._env, self._with_state = env, with_state
        self._readers: dict[str, ActionReader] = {}
        self._due: dict[str, Due] = {}
        self._left: dict[str, Left] = {}

    def due(self) -> Mapping[str, Due]:
        """Returns the agents that have to act before the game goes on; none when it is over."""
        return self._due

    def left(self) -> Mapping[str, Left]:
        """Returns the agents whose game has ended since this was last asked."""
        left, self._left = self._left, {}
        return left

    def _read(self, agent: str, action: object) -> object:
        """Returns an action as an agent's space has it.

        Raises:
          BadActionError: It does not fit.
        """
        if agent not in self._readers:
            self._readers[agent] = action_reader(self._env.action_space(agent))
        return self._readers[agent](action)

    def _seen(self, observation: Any, info: Any, state: object) -> tuple[object, object]:
        """Returns what an agent sees, with the state where that is wanted, and its mask."""
        observation, mask = split_seen(observation, info)
        return {"own": observation, "state": state} if self._with_state else observation, mask

    def _state(self) -> object:
        return self._env.state() if self._with_state else None


class Simultaneous(_Adapter):
    """All agents act at once: a ``ParallelEnv``."""

    def restart(self, seed: int) -> None:
        """Begins a game."""
        observations, infos = self._env.reset(seed=seed)
        self._left = {}
        state = self._state()
        seen = {agent: self._seen(observations[agent], infos.get(agent), state) for agent in self._env.agents}
        self._due = {agent: Due(*whole, 0.0) for agent, whole in seen.items()}

    def act(self, actions: Mapping[str, object]) -> None:
        """Takes the action of each agent that is due.

        Raises:
          BadActionError: One does not fit its action space.
        """
        read = {agent: self._read(agent, action) for agent, action in actions.items()}
        observations, rewards, terminated, truncated, infos = self._env.step(read)
        state = self._state()
        self._due = {}
        for agent, observation in observations.items():
            seen, mask = self._seen(observation, infos.get(agent), state)
            reward = reward_of(float(rewards[agent]), infos.get(agent) or {})
            if terminated[agent] or truncated[agent]:
                self._left[agent] = Left(seen, reward, bool(terminated[agent]), bool(truncated[agent]))
            else:
                self._due[agent] = Due(seen, mask, reward)


class ByTurns(_Adapter):
    """One agent acts after the other: an ``AECEnv``."""

    def restart(self, seed: int) -> None:
        """Begins a game."""
        self._env.reset(seed=seed)
        self._left = {}
        self._look()

    def act(self, actions: Mapping[str, object]) -> None:
        """Takes the action of the agent that is due.

        Raises:
          BadActionError: It does not fit its action space.
        """
        ((agent, action),) = actions.items()
        self._env.step(self._read(agent, action))
        self._look()

    def _look(self) -> None:
        """Finds whose turn it is; those whose game has ended make their last, empty step first."""
        self._due = {}
        while self._env.agents:
            agent = self._env.agent_selection
            observation, reward, terminated, truncated, info = self._env.last()
            seen, mask = self._seen(observation, info, self._state())
            if not (terminated or truncated):
                self._due = {agent: Due(seen, mask, reward_of(float(reward), info))}
                return
            self._left[agent] = Left(seen, reward_of(float(reward), info), bool(terminated), bool(truncated))
            self._env.step(None)


def split_seen(observation: Any, info: Any) -> tuple[Any, Any]:
    """Returns what an agent sees and its mask, which stands in the observation or beside it; None allows all."""
    mask = info.get("action_mask") if isinstance(info, Mapping) else None
    if isinstance(observation, Mapping) and set(observation) == {"observation", "action_mask"}:
        return observation["observation"], observation["action_mask"]
    return observation, mask


def make_multi_agent(env: str, *, with_state: bool = False) -> MultiAgentEnvironment:
    """Returns one environment.

    Args:
      env: ``pettingzoo:package.module:factory``, whose factory returns a ``ParallelEnv`` or an ``AECEnv``.
      with_state: Whether an observation is ``{"own": what the agent sees, "state": that of the whole game}``.

    Raises:
      ConfigError: It cannot be made, or is neither.
    """
    path = env.removeprefix(PREFIX)
    made = made_by(path)
    if hasattr(made, "agent_selection") or hasattr(made, "agent_iter"):
        return ByTurns(made, with_state=with_state)
    if hasattr(made, "action_space") and hasattr(made, "step"):
        return Simultaneous(made, with_state=with_state)
    raise ConfigError(f"{path!r} made a {type(made).__name__}; allowed are PettingZoo's ParallelEnv and AECEnv")
