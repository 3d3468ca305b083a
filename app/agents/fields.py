"""Numbers inside payloads, by dotted path."""

import math
from numbers import Real

import numpy as np
from google.protobuf.message import Message


def number_at(payload: object, path: str) -> float | None:
    """Returns the number at a path such as ``me.health`` or ``entities.0.x``; None where there is none.

    Args:
      payload: A JSON value or a protobuf message. An optional field of a message that is not set has no number; one
        without presence has its default.
      path: Keys of objects, fields of messages and places in lists, parted by dots.
    """
    value: object = payload
    for key in path.split("."):
        value = _below(value, key)
    return number_of(value)


def number_of(value: object) -> float | None:
    """Returns a value as a number, a claim as 0 or 1; None where it is neither."""
    if not isinstance(value, Real | np.bool_):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _below(value: object, key: str) -> object:
    if isinstance(value, dict):
        return value.get(key)
    if isinstance(value, Message):
        return _field(value, key)
    if isinstance(value, str | bytes) or not (key.isascii() and key.isdecimal()):
        return None
    try:  # Lists, and the repeated fields of messages.
        return value[int(key)]  # type: ignore[index]  # What has no places raises TypeError.
    except (IndexError, TypeError):
        return None


def _field(message: Message, name: str) -> object:
    field = message.DESCRIPTOR.fields_by_name.get(name)
    if field is None or (field.has_presence and not message.HasField(name)):
        return None
    return getattr(message, name)
