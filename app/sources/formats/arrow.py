"""Arrow columns to numpy."""

import json
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from app.errors import SourceError

EXTENSION: Final = b"ARROW:extension:metadata"
"""Where a tensor column whose type is not registered keeps its shape."""


def column_arrays(name: str, field: Any, column: Any, where: str) -> dict[str, NDArray[np.generic]]:
    """Returns a column as arrays by path: itself, or one for each field of a structure; none where it holds no numbers.

    Args:
      name: Of the column.
      field: Its ``pyarrow.Field``.
      column: Its ``pyarrow.Array``.
      where: File, for messages.

    Raises:
      SourceError: It holds rows of several shapes, or gaps.
    """
    if isinstance(column.type, pa.BaseExtensionType):
        return {name: _tensors(column.storage, tuple(column.type.shape), where, name)}
    if pa.types.is_struct(column.type):
        parts = {f"{name}/{part.name}": (part, column.field(at)) for at, part in enumerate(column.type)}
        return {
            k: v for path, (part, inner) in parts.items() for k, v in column_arrays(path, part, inner, where).items()
        }
    metadata = field.metadata or {}
    if EXTENSION in metadata:
        shape = json.loads(metadata[EXTENSION])
        return {name: _tensors(column, tuple(shape["shape"] if isinstance(shape, dict) else shape), where, name)}
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return {name: np.array(column.to_pylist())} if name == "episode" else {}
    array = _lists(column, where, name)
    return {} if array is None else {name: array}


def _tensors(storage: Any, shape: tuple[int, ...], where: str, name: str) -> NDArray[np.generic]:
    if pa.types.is_struct(storage.type):
        raise SourceError(f"{where}: {name} holds arrays of several shapes; allowed is one shape")
    flat = _lists(storage, where, name)
    if flat is None:
        raise SourceError(f"{where}: {name} holds {storage.type}; allowed are numbers")
    return flat.reshape(len(storage), *shape)


def _lists(column: Any, where: str, name: str) -> NDArray[np.generic] | None:
    """Returns numbers, and lists of lists of such of equal length; None where there is something else."""
    if column.null_count:
        raise SourceError(f"{where}: {name} has {column.null_count} gaps; allowed are numbers throughout")
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type) or pa.types.is_fixed_size_list(column.type):
        inner = _lists(column.flatten(), where, name)
        if inner is None:
            return None
        rows = len(column)
        size, rest = divmod(len(inner), rows) if rows else (0, 0)
        if rest or (rows and not _equally_long(column, size)):
            raise SourceError(f"{where}: {name} has lists of several lengths; allowed is one length")
        return inner.reshape(rows, size, *inner.shape[1:])
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type)):
        return None
    found: NDArray[np.generic] = column.to_numpy(zero_copy_only=False)
    return found


def _equally_long(column: Any, size: int) -> bool:
    if pa.types.is_fixed_size_list(column.type):
        return True
    return bool((np.asarray(column.value_lengths()) == size).all())
