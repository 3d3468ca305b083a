"""What the agents of a Godot game see and do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from app.bridges.errors import BridgeError
from app.bridges.parts import joined, split, unit_numbers, whole_number

PICTURE: Final = "2d"
"""Part of the name of an observation that is a picture: bytes, in hexadecimal digits."""
MAX_AGENTS: Final = 10_000

ActionKind = Literal["discrete", "continuous"]


@dataclass(frozen=True, slots=True)
class ActionPart:
    """One part of an action: a choice of ``size``, or as many numbers from -1 to 1."""

    kind: ActionKind
    size: int

    def read(self, name: str, action: Any) -> object:
        """Returns the service's action as the game takes it.

        Raises:
          BridgeError: It does not fit.
        """
        if self.kind == "discrete":
            return whole_number(name, action, self.size)
        return unit_numbers(name, action, self.size)


@dataclass(frozen=True, slots=True)
class AgentSpaces:
    """What one agent of the game sees and does.

    Attributes:
      shapes: Shape of each observation that is numbers, by name; () for a choice.
      actions: Parts of its action, by name.
      policy: Name of the policy that the game wants for it.
    """

    shapes: Mapping[str, tuple[int, ...]]
    actions: Mapping[str, ActionPart]
    policy: str

    def observation(self, seen: Any, *, named: bool) -> Any:
        """Returns an observation as the service's agent takes it.

        Raises:
          BridgeError: It is not what the game declared.
        """
        if not isinstance(seen, dict) or seen.keys() != self.shapes.keys():
            raise BridgeError(f"an observation is {str(seen)[:80]}; declared are {', '.join(self.shapes)}")
        return joined({name: self._part(name, part) for name, part in seen.items()}, named=named)

    def action(self, action: Any, *, named: bool) -> dict[str, object]:
        """Returns the service's action as the game takes it.

        Raises:
          BridgeError: It does not fit.
        """
        parts = split(action, tuple(self.actions), named=named)
        return {name: part.read(name, parts[name]) for name, part in self.actions.items()}

    def _part(self, name: str, part: Any) -> Any:
        shape = self.shapes[name]
        try:
            if PICTURE in name:
                return np.frombuffer(bytes.fromhex(part), np.uint8).reshape(shape)
            return np.asarray(part, np.float32).reshape(shape)
        except (TypeError, ValueError) as error:
            raise BridgeError(f"observation {name!r} does not fit its shape {shape}: {error}") from error


def read_spaces(info: Mapping[str, Any]) -> list[AgentSpaces]:
    """Returns what each agent of a game sees and does, of its ``env_info``.

    Raises:
      BridgeError: It is not written as the plugin writes it, or holds spaces that nobody can serve.
    """
    count = info.get("n_agents")
    if not isinstance(count, int) or not 0 < count <= MAX_AGENTS:
        raise BridgeError(f"n_agents is {count!r}; allowed are 1 to {MAX_AGENTS}")
    observations = _of_each("observation_space", info, count)
    actions = _of_each("action_space", info, count)
    policies = info.get("agent_policy_names", ["shared_policy"] * count)
    if not isinstance(policies, list) or len(policies) != count:
        raise BridgeError(f"agent_policy_names is {str(policies)[:80]}; allowed is a name for each of {count} agents")
    return [
        AgentSpaces(
            {name: _shape(name, part) for name, part in seen.items()},
            {name: _action(name, part) for name, part in done.items()},
            str(policy),
        )
        for seen, done, policy in zip(observations, actions, policies, strict=True)
    ]


def _of_each(name: str, info: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """Returns the spaces of each agent; older plugins name them once for all."""
    spaces = info.get(name)
    if isinstance(spaces, dict):
        spaces = [spaces] * count
    if not isinstance(spaces, list) or len(spaces) != count or not all(isinstance(s, dict) and s for s in spaces):
        raise BridgeError(f"{name} is {str(spaces)[:80]}; allowed is an object of spaces, or one for each of {count}")
    return spaces


def _shape(name: str, part: Any) -> tuple[int, ...]:
    kind = part.get("space") if isinstance(part, dict) else None
    if kind == "discrete":
        return ()
    size = part.get("size") if kind == "box" else None
    if not isinstance(size, list) or not all(isinstance(side, int) and side > 0 for side in size):
        raise BridgeError(f"observation space {name!r} is {str(part)[:80]}; allowed are box with a size, and discrete")
    return tuple(size)


def _action(name: str, part: Any) -> ActionPart:
    kind = part.get("action_type") if isinstance(part, dict) else None
    size = part.get("size") if isinstance(part, dict) else None
    if kind not in ("discrete", "continuous") or not isinstance(size, int) or size < 1:
        raise BridgeError(f"action space {name!r} is {str(part)[:80]}; allowed are discrete and continuous with a size")
    return ActionPart(kind, size)
