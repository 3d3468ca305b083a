"""What went wrong in a model replica, as it stands in its answers: of a whole call, or of single rows; no I/O."""

from collections.abc import Sequence
from typing import Final

import orjson

from app.errors import (
    AgentError,
    BadPayloadError,
    DeadlineExceededError,
    DrainingError,
    ModelMismatchError,
    OverloadedError,
    SparringError,
)
from app.models.engine import RowFailure

MAX_ERROR_CHARACTERS: Final = 1024
"""Most of an error's text that a frame carries."""
_ERRORS: Final[dict[str, type[Exception]]] = {
    kind.__name__: kind
    for kind in (ValueError, ModelMismatchError, OverloadedError, DeadlineExceededError, DrainingError, AgentError)
}


def packed_error(error: Exception) -> bytes:
    """Returns an error as JSON; its message is cut."""
    return orjson.dumps([type(error).__name__, str(error)[:MAX_ERROR_CHARACTERS]])


def read_error(data: bytes) -> Exception:
    """Returns the error in such bytes.

    Raises:
      BadPayloadError: There is none.
    """
    try:
        name, message = orjson.loads(data)
    except ValueError as error:
        raise BadPayloadError(f"an error of {len(data)} bytes cannot be read") from error
    kind = _ERRORS.get(name)
    return SparringError(f"{name}: {message}") if kind is None else kind(message)


def packed_failures(failures: Sequence[RowFailure]) -> bytes:
    """Returns the rows that failed by their error, as JSON; nothing where none did."""
    if not failures:
        return b""
    rows_by_error: dict[str, list[int]] = {}
    for row, error in failures:
        rows_by_error.setdefault(error[:MAX_ERROR_CHARACTERS], []).append(row)
    return orjson.dumps(rows_by_error)


def read_failures(data: bytes, rows: int) -> tuple[RowFailure, ...]:
    """Returns the failed rows in such bytes.

    Args:
      data: What stands behind the leaves of an answer.
      rows: How many the answer has.

    Raises:
      BadPayloadError: The bytes are something else.
    """
    if not data:
        return ()
    try:
        failures = sorted(RowFailure(int(row), error) for error, at in orjson.loads(data).items() for row in at)
    except (AttributeError, TypeError, ValueError) as error:
        raise BadPayloadError(f"rows that failed cannot be read from {len(data)} bytes") from error
    if not failures or not 0 <= failures[0].row <= failures[-1].row < rows:
        raise BadPayloadError(f"of {rows} rows failed {[row for row, _ in failures]}")
    return tuple(failures)
