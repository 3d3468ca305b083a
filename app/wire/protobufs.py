"""Tells protobuf messages from other values, without protobuf where nobody has it."""

import sys
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from google.protobuf.message import Message


def is_message(value: object) -> "TypeGuard[Message]":
    """Returns whether a value is a protobuf message: who has made one has the library loaded."""
    module = sys.modules.get("google.protobuf.message")
    return module is not None and isinstance(value, module.Message)
