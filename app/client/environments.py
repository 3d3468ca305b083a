"""Gymnasium environments in numbered slots. Gymnasium is imported when the first one is made."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from app.client.dm_environment import PREFIX as DM_ENV
from app.client.dm_environment import make_dm_environment
from app.errors import ConfigError, SparringError

if TYPE_CHECKING:
    from types import ModuleType

    import gymnasium

VECTORISED = frozenset({"CartPole-v1"})
"""Ids whose own vectorised environment is faster than separate ones and resets a slot in the step after its end."""
FEWEST_FOR_VECTOR = 8
"""From so many games on it is."""

Reward = float | Mapping[str, float]
"""A number, or several by name."""

ActionReader = Callable[[object], object]
"""Turns the JSON of an action into what an environment takes."""


class BadActionError(SparringError):
    """The service's action does not fit the environment's action space."""


class Environments(Protocol):
    """Environments in numbered slots; the sequences hold what each slot's newest step or restart brought."""

    @property
    def observations(self) -> Sequence[object]:
        """Newest observation of each slot."""

    @property
    def action_masks(self) -> Sequence[object]:
        """Choices that each slot's newest observation allows; None where all are."""

    @property
    def rewards(self) -> Sequence[Reward]:
        """Reward of each slot's newest step."""

    @property
    def terminated(self) -> Sequence[bool]:
        """Whether each slot's newest step ended its episode by the environment's rules."""

    @property
    def truncated(self) -> Sequence[bool]:
        """Whether each slot's newest step ended its episode by a time limit."""

    @property
    def read_action(self) -> ActionReader:
        """Turns the JSON of an action into what ``step`` takes."""

    def restart(self, slot: int, seed: int) -> bool:
        """Tells whether ``observations[slot]`` is the first of a new episode; if not, ask after the next step."""

    def step(self, actions: Mapping[int, object]) -> None:
        """Steps the slots that have an action; the others may be stepped too, towards their next episode."""


class SeparateEnvironments:
    """One environment a slot: every episode has its own seed, any Gymnasium id will do.

    What an environment allows is what its info says under ``action_mask``; of several rewards, each is what it says by
    name under ``rewards``.
    """

    def __init__(self, env_id: str, slots: int) -> None:
        self._envs = [_make(env_id) for _ in range(slots)]
        self.observations: list[object] = [None] * slots
        self.action_masks: list[object] = [None] * slots
        self.rewards: list[Reward] = [0.0] * slots
        self.terminated = [False] * slots
        self.truncated = [False] * slots
        self.read_action = action_reader(self._envs[0].action_space)

    def restart(self, slot: int, seed: int) -> bool:
        """Resets the slot's environment with ``seed``; always ready."""
        self.observations[slot], info = self._envs[slot].reset(seed=seed)
        self.action_masks[slot] = info.get("action_mask")
        return True

    def step(self, actions: Mapping[int, object]) -> None:
        """Steps the slots that have an action."""
        for slot, action in actions.items():
            observation, reward, terminated, truncated, info = self._envs[slot].step(action)
            self.observations[slot], self.action_masks[slot] = observation, info.get("action_mask")
            self.rewards[slot] = reward_of(float(reward), info)
            self.terminated[slot] = bool(terminated)
            self.truncated[slot] = bool(truncated)


class VectorEnvironments:
    """One vectorised environment for all slots: faster, but only the run as a whole has a seed.

    It resets an ended slot in its next step. A slot without a game mid-episode, whose session was lost, is moved by
    a constant action until that episode ends.
    """

    def __init__(self, env_id: str, slots: int, seed: int) -> None:
        self._envs = _gymnasium().make_vec(env_id, num_envs=slots, vectorization_mode="vector_entry_point")
        space = self._envs.single_action_space
        space.seed(seed)
        self._actions: Any = np.array([space.sample()] * slots)  # Of the space's dtype.
        observations, _ = self._envs.reset(seed=seed)
        self.observations: Sequence[object] = observations
        self.action_masks: Sequence[object] = [None] * slots
        self.rewards: Sequence[Reward] = [0.0] * slots
        self.terminated: Sequence[bool] = [False] * slots
        self.truncated: Sequence[bool] = [False] * slots
        self._fresh = [True] * slots
        self.read_action = action_reader(space)

    def restart(self, slot: int, seed: int) -> bool:
        """Tells whether the newest step began a new episode in the slot; one generator serves all, so no seed."""
        return self._fresh[slot]

    def step(self, actions: Mapping[int, object]) -> None:
        """Steps all slots, those without an action by their last one."""
        for slot, action in actions.items():
            self._actions[slot] = action
        self._fresh = [a or b for a, b in zip(self.terminated, self.truncated, strict=True)]
        self.observations, rewards, terminated, truncated, _ = self._envs.step(self._actions)
        self.rewards, self.terminated, self.truncated = rewards.tolist(), terminated.tolist(), truncated.tolist()


def reward_of(reward: float, info: Mapping[str, Any]) -> Reward:
    """Returns what a step brought: the named rewards of its info where there are some, else the number."""
    named = info.get("rewards")
    return reward if named is None else {str(name): float(x) for name, x in named.items()}


def make_environments(env_id: str, slots: int, seed: int, *, seeded_episodes: bool) -> Environments:
    """Returns the fastest environments that can do what is asked.

    Args:
      env_id: Gymnasium id, ``package.module:Id`` for one that a package registers, or
        ``dm_env:package.module:factory``.
      slots: Number of games played at a time.
      seed: Seed of a vectorised environment.
      seeded_episodes: Each episode needs a seed of its own, or slots are stepped one by one.

    Raises:
      ConfigError: Gymnasium is missing or knows no such environment.
    """
    if not seeded_episodes and slots >= FEWEST_FOR_VECTOR and env_id in VECTORISED:
        return VectorEnvironments(env_id, slots, seed)
    return SeparateEnvironments(env_id, slots)


def action_reader(space: "gymnasium.Space[Any]") -> ActionReader:
    """Returns the function that reads actions of a Gymnasium space, raising BadActionError for those outside it."""
    parts: Any = getattr(space, "spaces", None)  # Of those nested in others.
    if parts is not None:
        return _nested_reader(space, parts)
    if hasattr(space, "n") and hasattr(space, "start"):
        first, behind = int(space.start), int(space.start) + int(space.n)

        def read_discrete(action: object) -> object:
            if not isinstance(action, int) or not first <= action < behind:
                raise BadActionError(f"the service's action is {action!r}; {space} allows {first} to {behind - 1}")
            return action

        return read_discrete

    def read_array(action: object) -> object:
        try:
            return np.asarray(action, dtype=space.dtype).reshape(space.shape)
        except (TypeError, ValueError) as error:
            raise BadActionError(f"the service's action {action!r} does not fit {space}: {error}") from error

    return read_array


def _nested_reader(space: "gymnasium.Space[Any]", parts: Any) -> ActionReader:
    named = isinstance(parts, Mapping)
    readers = {name: action_reader(part) for name, part in (parts.items() if named else enumerate(parts))}

    def read_nested(action: object) -> object:
        if isinstance(action, list) and not named:
            action = dict(enumerate(action))
        if not isinstance(action, dict) or action.keys() != readers.keys():
            raise BadActionError(
                f"the service's action is {action!r}; {space} has the parts {', '.join(map(str, readers))}"
            )
        read = {name: reader(action[name]) for name, reader in readers.items()}
        return read if named else tuple(read.values())

    return read_nested


def _make(env_id: str) -> "gymnasium.Env[Any, Any]":
    if env_id.startswith(DM_ENV):
        return cast("gymnasium.Env[Any, Any]", make_dm_environment(env_id))
    gym = _gymnasium()
    try:
        env: gymnasium.Env[Any, Any] = gym.make(env_id, disable_env_checker=True)
    except (gym.error.Error, ImportError) as error:
        raise ConfigError(f"Gymnasium cannot make {env_id!r}: {error}") from error
    return env


def _gymnasium() -> "ModuleType":
    try:
        return importlib.import_module("gymnasium")  # Takes 0.1 s, and help texts do not need it.
    except ImportError as error:
        raise ConfigError("simulating needs Gymnasium: pip install 'sparring[games]'") from error
