"""What the agents of a Unity game see and do."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from app.bridges.errors import BridgeError
from app.bridges.parts import joined, split, unit_numbers, whole_number
from app.bridges.unity import unity_pb2 as pb
from app.bridges.unity.pictures import read_pictures

CONTINUOUS, DISCRETE = "continuous", "discrete"
PNG: Final = 1
"""The compression that there is."""
MAX_NUMBERS: Final = 2**20
"""Numbers of one action; more is no game."""


@dataclass(frozen=True, slots=True)
class Behavior:
    """What agents of one behaviour do.

    Attributes:
      continuous: How many numbers from -1 to 1.
      branches: Choices of each discrete branch.
    """

    continuous: int
    branches: tuple[int, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        """Returns the parts of an action: numbers, choices, or both."""
        return (*([CONTINUOUS] if self.continuous else []), *([DISCRETE] if self.branches else []))

    def mask(self, forbidden: Sequence[bool], *, named: bool) -> Any:
        """Returns which choices are allowed, nested like an action; None where all are.

        Raises:
          BridgeError: There is not a flag for each choice.
        """
        if not forbidden:
            return None
        if len(forbidden) != sum(self.branches):
            raise BridgeError(f"an action mask has {len(forbidden)} flags; allowed are {sum(self.branches)}")
        allowed = iter(not flag for flag in forbidden)
        branches = [[next(allowed) for _ in range(size)] for size in self.branches]
        masks: dict[str, Any] = {CONTINUOUS: None} if self.continuous else {}
        return joined({**masks, DISCRETE: branches[0] if len(branches) == 1 else branches}, named=named)

    def action(self, action: Any, *, named: bool) -> pb.Action:
        """Returns the service's action as the game takes it.

        Raises:
          BridgeError: It does not fit.
        """
        parts = split(action, self.parts, named=named)
        made = pb.Action()
        if self.continuous:
            made.continuous.extend(unit_numbers(CONTINUOUS, parts[CONTINUOUS], self.continuous).tolist())
        if self.branches:
            made.discrete.extend(self._choices(parts[DISCRETE]))
        return made

    def _choices(self, action: Any) -> list[int]:
        branches = action if len(self.branches) > 1 else [action]
        if not isinstance(branches, list) or len(branches) != len(self.branches):
            raise BridgeError(f"the service's action is {str(action)[:80]}; allowed are {len(self.branches)} choices")
        return [whole_number(DISCRETE, one, size) for one, size in zip(branches, self.branches, strict=True)]


def read_behavior(behavior: pb.Behavior) -> Behavior:
    """Returns what agents of a behaviour do.

    Raises:
      BridgeError: They do nothing, as those of games older than ML-Agents 1.8 seem to, or too much.
    """
    spec = behavior.action_spec
    read = Behavior(spec.continuous_actions, tuple(spec.discrete_branch_sizes))
    if not read.parts or read.continuous < 0 or any(size < 1 for size in read.branches):
        raise BridgeError(f"behaviour {behavior.name!r} has no action that can be served: continuous or discrete ones")
    if read.continuous + sum(read.branches) > MAX_NUMBERS:
        raise BridgeError(f"behaviour {behavior.name!r} has more than {MAX_NUMBERS} numbers and choices")
    return read


def read_observation(agent: pb.Agent, *, named: bool) -> Any:
    """Returns what an agent sees: one array, or several by the names of its sensors.

    Raises:
      BridgeError: It has no name among others, does not fit its shape, or is compressed in another way than as PNGs.
    """
    parts = {one.name or str(number): _array(one) for number, one in enumerate(agent.observations)}
    if not parts or len(parts) != len(agent.observations):
        names = [one.name for one in agent.observations]
        raise BridgeError(f"the sensors of an agent are {names}; allowed is at least one, each with a name of its own")
    return joined(parts, named=named)


def picture_numbers(agent: pb.Agent) -> int:
    """Returns how many numbers the compressed pictures of an agent say that they unpack to."""
    return sum(abs(math.prod(one.shape)) for one in agent.observations if one.compression)


def _array(observation: pb.Observation) -> Any:
    if observation.compression:
        return _picture(observation)
    array, shape = np.array(observation.floats.data, np.float32), tuple(observation.shape)
    if any(size < 1 for size in shape) or array.size != math.prod(shape) or not np.isfinite(array).all():
        raise BridgeError(
            f"sensor {observation.name!r} sends {array.size} numbers for the shape {shape}; allowed are as many, finite"
        )
    return array.reshape(shape)


def _picture(observation: pb.Observation) -> Any:
    if observation.compression != PNG:
        raise BridgeError(
            f"sensor {observation.name!r} sends pictures compressed in way {observation.compression}; allowed are "
            "0 and 1: None and PNG in the Unity editor"
        )
    try:
        return read_pictures(observation.pngs, observation.shape, observation.channel_mapping)
    except BridgeError as error:
        raise BridgeError(f"sensor {observation.name!r}: {error}") from error
