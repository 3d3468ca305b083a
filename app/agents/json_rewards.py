"""JSON values to rewards: a number, or an object of numbers where the model names its rewards."""

from typing import Final

import numpy as np

from app.errors import BadPayloadError
from app.models.spec import ModelSpec
from app.types import Amount

REWARD_MAX: Final = float(np.finfo(np.float32).max)
"""Rewards are stored as float32; what is beyond would become infinite."""


def read_reward(value: object, spec: ModelSpec) -> Amount:
    """Returns a reward: a number, or the named ones in the spec's order, for which a plain 0 is 0 of each.

    Raises:
      BadPayloadError: It is no number in range, or the names are not the spec's.
    """
    if not spec.rewards:
        return _number("reward", value)
    if value == 0 and not isinstance(value, bool):
        return np.zeros(len(spec.rewards), np.float32)
    names = ", ".join(spec.rewards)
    if not isinstance(value, dict):
        raise BadPayloadError(f"reward is {value!r}; allowed is an object with a number for each of {names}")
    if value.keys() != set(spec.rewards):
        got = ", ".join(map(str, value)) or "nothing"
        raise BadPayloadError(f"reward names {got}; allowed are exactly the rewards of the model: {names}")
    return np.array([_number(f"reward.{name}", value[name]) for name in spec.rewards], np.float32)


def _number(name: str, value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= REWARD_MAX:
        raise BadPayloadError(f"{name} is {value!r}; allowed is a number up to ±{REWARD_MAX:g}")
    return float(value)
