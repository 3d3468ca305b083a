"""``/steps`` whose body is a protobuf ``Batch``, answered by an ``AnswerBatch``."""

from collections.abc import Mapping
from typing import Final

from app.wire.messages import read_batch
from app.wire.step_fields import credentials_of, defaults_of
from app.wire.steps import StepRequest

PROTOBUF: Final = b"application/x-protobuf"
"""Content type of the answer, and of the request."""
_ACCEPTED: Final = frozenset(("application/x-protobuf", "application/protobuf"))


def is_protobuf(fields: Mapping[str, str]) -> bool:
    """Returns whether the fields say that the body is a protobuf message."""
    return fields.get("content-type", "").partition(";")[0].strip().lower() in _ACCEPTED


def proto_batch_of(fields: Mapping[str, str], body: bytes) -> list[StepRequest]:
    """Returns the steps of a ``Batch``; purpose and deadline of the header are the items' default.

    Raises:
      BadPayloadError: The body is no ``Batch``.
      BadRequestError: There are too many items, or one is not a step.
    """
    purpose, deadline_ms = defaults_of(fields)
    return [
        step._replace(
            purpose=purpose if step.purpose is None else step.purpose,
            deadline_ms=deadline_ms if step.deadline_ms is None else step.deadline_ms,
        )
        for step in read_batch(body, credentials_of(fields))
    ]
