"""A dm_env environment in the words of Gymnasium."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from app.client.making import made_by
from app.errors import ConfigError

if TYPE_CHECKING:
    import dm_env
    import gymnasium

PREFIX: Final = "dm_env:"
"""What the name of an environment begins with that dm_env's interface describes."""


class DmEnvironment:
    """One environment; dm_env knows no seeds, so that its episodes are seeded by whoever makes it."""

    def __init__(self, env: "dm_env.Environment") -> None:
        """Keeps an environment.

        Raises:
          ConfigError: Its action has no space.
        """
        self._env = env
        self.action_space = space_of(env.action_spec())

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode, and returns what is seen; the seed is not used."""
        return self._env.reset().observation, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Returns observation, reward, whether the episode ended by its rules, whether it was cut, and nothing."""
        timestep = self._env.step(action)
        ended = ended_by_rules(timestep)
        return timestep.observation, float(timestep.reward or 0.0), ended, timestep.last() and not ended, {}


def ended_by_rules(timestep: "dm_env.TimeStep") -> bool:
    """Returns whether a time step is the last one and nothing would follow; a discount is what a cut one has."""
    return bool(timestep.last() and np.all(np.equal(timestep.discount, 0.0)))


def make_dm_environment(name: str) -> DmEnvironment:
    """Returns one environment.

    Args:
      name: ``dm_env:package.module:factory``, whose factory takes no arguments.

    Raises:
      ConfigError: It cannot be made, or is none of dm_env's.
    """
    path = name.removeprefix(PREFIX)
    made = made_by(path)
    if not (hasattr(made, "action_spec") and hasattr(made, "step")):
        raise ConfigError(f"{path!r} made a {type(made).__name__}; allowed is a dm_env.Environment")
    return DmEnvironment(made)


def space_of(spec: Any) -> "gymnasium.Space[Any]":
    """Returns the Gymnasium space of a dm_env spec, with dicts and tuples of such.

    Raises:
      ConfigError: It is no array of numbers.
    """
    from gymnasium import spaces  # noqa: PLC0415  # Takes 0.1 s, and help texts do not need it.

    if isinstance(spec, Mapping):
        return spaces.Dict({name: space_of(part) for name, part in spec.items()})
    if isinstance(spec, list | tuple):
        return spaces.Tuple([space_of(part) for part in spec])
    if hasattr(spec, "num_values"):
        return spaces.Discrete(int(spec.num_values))
    if not (hasattr(spec, "shape") and hasattr(spec, "dtype")) or spec.dtype.kind not in "iufb":
        raise ConfigError(f"the action is {spec!r}; allowed are arrays of numbers, and dicts and tuples of such")
    low, high = getattr(spec, "minimum", -np.inf), getattr(spec, "maximum", np.inf)
    if spec.dtype.kind in "iub" and not hasattr(spec, "minimum"):
        low, high = (0, 1) if spec.dtype.kind == "b" else (np.iinfo(spec.dtype).min, np.iinfo(spec.dtype).max)
    return spaces.Box(np.broadcast_to(low, spec.shape), np.broadcast_to(high, spec.shape), spec.shape, spec.dtype)
