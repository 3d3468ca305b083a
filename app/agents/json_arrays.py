"""JSON values to the nested arrays that a model takes, and its actions back to JSON."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import BadPayloadError
from app.models.distributions.distribution import Distribution
from app.models.spec import ArraySpec, ModelSpec
from app.nested import Structure


def read_observation(value: object, part: Structure[ArraySpec]) -> Any:
    """Returns an observation: arrays, nested like the model's.

    Raises:
      BadPayloadError: It does not fit the model, or holds NaN or infinity.
    """
    leaves = _leaves("observation", value, part)
    arrays = [
        _array(name, leaf, spec)
        for name, leaf, spec in zip(part.columns("observation"), leaves, part.leaves, strict=True)
    ]
    return part.unflatten(arrays)


def read_mask(value: object, spec: ModelSpec) -> Any:
    """Returns a mask nested like the model's action, None at leaves without choices; None where there is none.

    Raises:
      BadPayloadError: It does not fit the action, or allows nothing.
    """
    if value is None:
        return None
    actions = spec.actions
    given = _leaves("action_mask", value, actions)
    names = actions.columns("action_mask")
    masks = [_flags(name, flags, leaf.choices) for name, flags, leaf in zip(names, given, actions.leaves, strict=True)]
    return actions.unflatten(masks)


def write_action(action: object) -> Any:
    """Returns an action as JSON: numbers, lists, and objects of such."""
    if isinstance(action, np.ndarray):
        return action.tolist()
    if isinstance(action, dict):
        return {name: write_action(part) for name, part in action.items()}
    if isinstance(action, tuple):
        return [write_action(part) for part in action]
    return action


def read_action(value: object, spec: ModelSpec) -> Any:
    """Returns an action, nested like the model's: a whole number for a choice, an array where the action is one.

    Raises:
      BadPayloadError: It does not fit the model.
    """
    leaves = _leaves("action", value, spec.actions)
    names = spec.actions.columns("action")
    return spec.actions.unflatten([_act(*one) for one in zip(names, leaves, spec.actions.leaves, strict=True)])


def everything_allowed(spec: ModelSpec) -> Any:
    """Returns the mask that allows every choice, nested like the model's action."""
    masks = [np.ones(leaf.choices, bool) if leaf.choices else None for leaf in spec.actions.leaves]
    return spec.actions.unflatten(masks)


def _leaves(what: str, value: object, part: Structure[Any]) -> list[Any]:
    if part.single:
        return [value]
    try:
        return part.flatten(_as_nested(value, part.unflatten(part.leaves)))
    except (ValueError, TypeError) as error:
        raise BadPayloadError(
            f"{what} is not nested as the model takes it ({', '.join(part.paths)}): {error}"
        ) from error


def _as_nested(value: object, wanted: object) -> object:
    """Returns a JSON value with tuples where the model has them, for JSON has none."""
    if isinstance(wanted, dict) and isinstance(value, dict):
        return {key: _as_nested(part, wanted.get(key)) for key, part in value.items()}
    if isinstance(wanted, tuple) and isinstance(value, list | tuple) and len(value) == len(wanted):
        return tuple(_as_nested(part, below) for part, below in zip(value, wanted, strict=True))
    return value


def _array(name: str, value: object, spec: ArraySpec) -> NDArray[np.generic]:
    try:
        array = np.asarray(value, spec.dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadPayloadError(f"{name} is not an array of {spec.dtype}: {error}") from error
    if array.shape != spec.shape:
        raise BadPayloadError(f"{name} has shape {array.shape}; the model takes {spec.shape}")
    if not np.isfinite(array).all():
        raise BadPayloadError(f"{name} holds NaN or infinity; allowed are finite numbers")
    return array


def _act(name: str, value: object, leaf: Distribution) -> Any:
    if not leaf.choices:
        return _array(name, value, ArraySpec(leaf.shape, leaf.dtype))
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < leaf.choices:
        raise BadPayloadError(f"{name} is {str(value)[:80]}; allowed are whole numbers from 0 to {leaf.choices - 1}")
    return value


def _flags(name: str, value: object, choices: int) -> NDArray[np.bool_] | None:
    if value is None:
        return np.ones(choices, bool) if choices else None
    flags = value if isinstance(value, list) else []
    if len(flags) != choices or not all(flag in (0, 1) for flag in flags) or not any(flags):
        raise BadPayloadError(f"{name} is {value!r}; allowed are {choices} flags, at least one true")
    return np.array(flags, bool)
