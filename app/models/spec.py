"""What a model takes and gives."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from app.models.distributions.action import draws_of
from app.models.distributions.distribution import Distribution
from app.nested import Nested, Structure

REWARD_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
"""What a reward may be called: it is part of the names of metrics."""


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """Shape and dtype of one array, without the batch axis."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    """numpy name."""

    numpy_dtype: np.dtype[np.generic] = field(init=False, repr=False, compare=False)
    """The same as numpy compares it, ten times as fast as the name."""

    def __post_init__(self) -> None:
        if any(size < 1 for size in self.shape):
            raise ValueError(f"an array spec needs positive sizes, got {self.shape}")
        object.__setattr__(self, "numpy_dtype", np.dtype(self.dtype))


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Shapes at the edge of a model: of a policy where it has an action, else of any network.

    Each part is one leaf, or dicts and tuples of leaves.
    """

    observation: Nested[ArraySpec]
    """What it is asked about."""
    action: Nested[Distribution] | None = None
    """What a policy does; None where the model is none."""
    state: Nested[ArraySpec] | None = None
    """What it carries from one tick to the next; None where each tick stands alone. A game begins with zeros."""
    outputs: Nested[ArraySpec] | None = None
    """What a model that is no policy answers."""
    policy_target: bool = False
    """Whether its rows carry how probable each choice ought to be, as a search found; of a policy of one choice."""
    rewards: tuple[str, ...] = ()
    """Names of the rewards of its games, for each of which it has a value; none where there is one reward."""

    inputs: Structure[ArraySpec] = field(init=False, repr=False, compare=False)
    """``observation`` by leaves."""
    states: Structure[ArraySpec] = field(init=False, repr=False, compare=False)
    """``state`` by leaves; none without one."""
    actions: Structure[Distribution] = field(init=False, repr=False, compare=False)
    """``action`` by leaves; none without one."""
    answers: Structure[ArraySpec] = field(init=False, repr=False, compare=False)
    """What an engine answers, by leaves: a policy's ``dist_inputs`` and its ``value`` behind them, or ``outputs``."""
    draws: int = field(init=False, repr=False, compare=False)
    """Uniform numbers that one action is made of; 0 without one."""

    def __post_init__(self) -> None:
        if (self.action is None) == (self.outputs is None):
            raise ValueError("a model spec needs an action, where it is a policy's, or outputs, and not both")
        actions: Structure[Distribution] = Structure(self.action)
        if self.policy_target and not (actions.single and actions.leaves[0].choices and not actions.leaves[0].shape):
            raise ValueError(f"a model spec with policy_target needs one choice as its action, got {self.action}")
        _check_rewards(self.rewards, is_policy=self.action is not None)
        answers: Nested[ArraySpec] | None = self.outputs
        if answers is None:
            dist_inputs = actions.unflatten([ArraySpec((leaf.inputs,)) for leaf in actions.leaves])
            answers = {"dist_inputs": dist_inputs, "value": ArraySpec(self.reward_shape)}
        parts = {"inputs": self.observation, "states": self.state, "answers": answers}
        for name, nested in parts.items():
            object.__setattr__(self, name, Structure(nested))
        object.__setattr__(self, "actions", actions)
        object.__setattr__(self, "draws", draws_of(actions))

    @property
    def is_policy(self) -> bool:
        """Whether it answers with actions."""
        return self.action is not None

    @property
    def reward_shape(self) -> tuple[int, ...]:
        """Shape of a row's reward and value: a number, or one for each name."""
        return (len(self.rewards),) if self.rewards else ()

    def describe(self) -> dict[str, dict[str, str]]:
        """Returns its parts as text, by path."""
        named = {"rewards": {str(at): name for at, name in enumerate(self.rewards)}} if self.rewards else {}
        return {
            "observation": _texts(self.inputs),
            "action": _texts(self.actions),
            "state": _texts(self.states),
            "answers": _texts(self.answers),
            **named,
        }


def spec_hash(spec: ModelSpec, parameters: Mapping[str, tuple[int, ...]]) -> str:
    """Returns a short hash of a model's spec and of the names and shapes of its parameters."""
    shapes = sorted((name, list(shape)) for name, shape in parameters.items())
    return hashlib.sha256(json.dumps([spec.describe(), shapes]).encode()).hexdigest()[:16]


def _check_rewards(names: tuple[str, ...], *, is_policy: bool) -> None:
    """Does nothing where a model can have rewards of these names.

    Raises:
      ValueError: It cannot; the message says why.
    """
    if not names:
        return
    if len(names) == 1 or len(set(names)) < len(names) or not all(map(REWARD_NAME.fullmatch, names)):
        raise ValueError(
            f"rewards is {list(names)}; allowed are two or more different names of letters, digits and _, or none "
            "where a game has one reward"
        )
    if not is_policy:
        raise ValueError(f"rewards is {list(names)} of a model that is no policy; allowed are none")


def _texts(part: Structure[ArraySpec] | Structure[Distribution]) -> dict[str, str]:
    return {path: repr(leaf) for path, leaf in zip(part.paths, part.leaves, strict=True)}
