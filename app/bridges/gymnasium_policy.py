"""The service as a policy for loops over Gymnasium environments, one or a vector of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from app.bridges.policy import ServicePolicy
from app.client.environments import action_reader, reward_of
from app.client.sync import Client
from app.errors import SparringError

if TYPE_CHECKING:
    import gymnasium

THE_ONE: Final = 0
"""Who plays where there is one."""


class EnvPolicy(ServicePolicy[int]):
    """Plays one environment: ``action = policy.begin(*env.reset())``, then ``policy.next(*env.step(action))``."""

    def __init__(
        self, client: Client, env: "gymnasium.Env[Any, Any]", options: Mapping[str, object] | None = None
    ) -> None:
        """Makes the policy of an environment.

        Args:
          client: The service, and why is played.
          env: Whose actions are wanted.
          options: Body of each start, the agent's.
        """
        super().__init__(client, options)
        self._read = action_reader(env.action_space)

    def begin(self, observation: object, info: Mapping[str, Any]) -> Any:
        """Returns the first action of an episode; one that is under way ends as truncated.

        Raises:
          ClientError: The service refused, or did not answer in time.
          BadActionError: The action does not fit the environment.
        """
        self._players.leave(THE_ONE, None, truncated=True)
        self._players.look(THE_ONE, observation, action_mask=info.get("action_mask"))
        return self._read(self._play()[THE_ONE])

    def next(
        self, observation: object, reward: Any, terminated: bool, truncated: bool, info: Mapping[str, Any]
    ) -> Any | None:
        """Returns the action behind a step; None where that ended the episode.

        Raises:
          SparringError: No episode is begun, or the service refused, did not answer in time, or acted otherwise than
            the environment allows.
        """
        _check_begun(self._players.playing(THE_ONE))
        brought = reward_of(float(reward), info)
        if terminated or truncated:
            self._players.leave(THE_ONE, observation, brought, terminated=bool(terminated), truncated=bool(truncated))
            self._play()
            return None
        self._players.look(THE_ONE, observation, brought, info.get("action_mask"))
        return self._read(self._play()[THE_ONE])


class VectorPolicy(ServicePolicy[int]):
    """Plays a vector of environments, one request a step: ``actions = policy.next(*envs.step(actions))``.

    An environment that resets itself in its next step (Gymnasium's default) ignores its action there: it gets one that
    its space allows. One that resets itself in the same step tells its last observation by ``final_obs``.
    """

    def __init__(
        self, client: Client, envs: "gymnasium.vector.VectorEnv[Any, Any, Any]",
        options: Mapping[str, object] | None = None,
    ) -> None:  # fmt: skip
        """Makes the policy of a vector.

        Args:
          client: The service, and why is played.
          envs: Whose actions are wanted.
          options: Body of each start, the agent's.

        Raises:
          SparringError: Its environments do not reset themselves.
        """
        super().__init__(client, options)
        from gymnasium.vector import AutoresetMode  # noqa: PLC0415  # Whoever has environments has it.

        mode = envs.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        if mode is AutoresetMode.DISABLED:
            raise SparringError(f"autoreset_mode of the vector is {mode}; allowed are NEXT_STEP and SAME_STEP")
        self._same_step = mode is AutoresetMode.SAME_STEP
        self._envs = envs
        self._read = action_reader(envs.single_action_space)
        self._ignored = envs.single_action_space.sample()
        self._resting = np.zeros(envs.num_envs, bool)
        """Whose next step is its reset."""

    def begin(self, observations: Any, infos: Mapping[str, Any]) -> Any:
        """Returns the first actions, batched like the action space; episodes under way end as truncated.

        Raises:
          ClientError: The service refused, or did not answer in time.
          BadActionError: An action does not fit the environments.
        """
        self._resting[:] = False
        for slot, (observation, mask) in enumerate(self._seen(observations, infos)):
            self._players.leave(slot, None, truncated=True)
            self._players.look(slot, observation, action_mask=mask)
        return self._actions()

    def next(self, observations: Any, rewards: Any, terminated: Any, truncated: Any, infos: Mapping[str, Any]) -> Any:
        """Returns the actions behind a step, batched like the action space.

        Raises:
          SparringError: No episode is begun, or the service refused, did not answer in time, or acted otherwise than
            the environments allow.
        """
        over = np.logical_or(terminated, truncated)
        _check_begun(bool(self._resting.all()) or any(map(self._players.playing, range(self._envs.num_envs))))
        last = _entry(infos, "final_obs") if self._same_step else None
        for slot, (observation, mask) in enumerate(self._seen(observations, infos)):
            if self._resting[slot]:  # This step was its reset.
                self._players.look(slot, observation, action_mask=mask)
            elif over[slot]:
                final = observation if last is None else last[slot]
                ended, cut = bool(terminated[slot]), bool(truncated[slot])
                self._players.leave(slot, final, float(rewards[slot]), terminated=ended, truncated=cut)
                if self._same_step:
                    self._players.look(slot, observation, action_mask=mask)
            else:
                self._players.look(slot, observation, float(rewards[slot]), mask)
        self._resting = over & ~self._resting if not self._same_step else self._resting
        return self._actions()

    def _seen(self, observations: Any, infos: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
        """Yields what each environment shows and allows."""
        from gymnasium.vector.utils import iterate  # noqa: PLC0415

        masks = _entry(infos, "action_mask")
        for slot, observation in enumerate(iterate(self._envs.observation_space, observations)):
            yield observation, None if masks is None else masks[slot]

    def _actions(self) -> Any:
        from gymnasium.vector.utils import concatenate, create_empty_array  # noqa: PLC0415

        played = self._play()
        slots = self._envs.num_envs
        actions = [self._read(played[slot]) if slot in played else self._ignored for slot in range(slots)]
        space = self._envs.single_action_space
        empty: Any = create_empty_array(space, slots)
        return concatenate(space, actions, empty)


def _entry(infos: Mapping[str, Any], name: str) -> Sequence[Any] | None:
    """Returns one entry of a vector's infos, a part a slot and None where a slot has none; None where nobody has."""
    if name not in infos:
        return None
    there = infos.get(f"_{name}")
    return [part if there is None or there[slot] else None for slot, part in enumerate(infos[name])]


def _check_begun(begun: bool) -> None:
    if not begun:
        raise SparringError("no episode is under way; begin one: policy.begin(*env.reset())")
