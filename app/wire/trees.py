"""Nested values with arrays to bytes and back, without pickle: what is sent between replicas and kept in stores.

Layout: u32 big-endian size of the head, the head as JSON, then the raw buffers one behind another. The head holds
the schema's version and the tree; containers and buffers are one-element objects (``l`` list, ``t`` tuple,
``d`` mapping, ``b`` bytes, ``a`` array, ``n`` number that JSON cannot hold).
"""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from app.errors import TreeError

SCHEMA_VERSION: Final = 1
"""Version of this layout and of what is written in it."""

Scalar = None | bool | int | float | str | bytes
Tree = Scalar | NDArray[np.generic] | list["Tree"] | tuple["Tree", ...] | dict[str, "Tree"]
"""What can be written."""

_HEAD_SIZE: Final = 4
_INT_MAX: Final = 2**63 - 1
_KINDS: Final = "biufc"
"""numpy kinds whose memory is their value: booleans, whole and floating numbers."""


def pack(tree: Tree) -> bytes:
    """Returns the bytes of a tree.

    Raises:
      TreeError: It holds a value that cannot be written; the message says where.
    """
    buffers: list[bytes] = []
    head = orjson.dumps({"schema_version": SCHEMA_VERSION, "tree": _Writer(buffers).node(tree, "")})
    return b"".join([len(head).to_bytes(_HEAD_SIZE, "big"), head, *buffers])


def unpack(data: bytes) -> Tree:
    """Returns the tree of ``pack``; its arrays are read-only views into the bytes.

    Raises:
      TreeError: The bytes are cut, are no tree, or were written by another version of the layout.
    """
    size = int.from_bytes(data[:_HEAD_SIZE], "big")
    try:
        head = orjson.loads(data[_HEAD_SIZE : _HEAD_SIZE + size])
        written = head["schema_version"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise TreeError(f"not a packed tree: {error}") from error
    if written != SCHEMA_VERSION:
        raise TreeError(f"packed by schema_version {written!r}; this service reads {SCHEMA_VERSION}")
    try:
        return _Reader(memoryview(data)[_HEAD_SIZE + size :]).node(head["tree"])
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise TreeError(f"a packed tree is damaged: {error}") from error


class _Writer:
    """Turns values to nodes and collects their buffers."""

    def __init__(self, buffers: list[bytes]) -> None:
        self._buffers = buffers
        self._offset = 0

    def node(self, tree: Any, where: str) -> Any:  # Checked here: whatever a user's agent holds.
        kind = type(tree)
        if tree is None or kind is bool or kind is str:
            return tree
        if kind is float:
            return tree if math.isfinite(tree) else {"n": repr(tree)}
        if kind is int:
            return tree if abs(tree) <= _INT_MAX else {"n": str(tree)}
        if kind is bytes:
            return {"b": self._put(tree)}
        if isinstance(tree, np.ndarray | np.generic):
            return self._array(np.asarray(tree), where)
        return self._container(tree, where)

    def _container(self, tree: Any, where: str) -> Any:
        if isinstance(tree, list):
            return {"l": [self.node(child, f"{where}[{at}]") for at, child in enumerate(tree)]}
        if isinstance(tree, tuple):
            return {"t": [self.node(child, f"{where}[{at}]") for at, child in enumerate(tree)]}
        if isinstance(tree, Mapping) and all(isinstance(name, str) for name in tree):
            return {"d": {name: self.node(child, f"{where}.{name}") for name, child in tree.items()}}
        raise TreeError(
            f"{where.lstrip('.') or 'the value'} is a {type(tree).__name__}; allowed are None, bool, int, float, str, "
            "bytes, numpy arrays, and lists, tuples and dicts with text keys of these"
        )

    def _array(self, array: NDArray[Any], where: str) -> dict[str, Any]:
        if array.dtype.kind not in _KINDS:
            raise TreeError(f"{where.lstrip('.') or 'the value'} is an array of {array.dtype}; allowed are numbers")
        return {"a": [array.dtype.str, array.shape, *self._put(np.ascontiguousarray(array).tobytes())]}

    def _put(self, buffer: bytes) -> list[int]:
        place = [self._offset, len(buffer)]
        self._buffers.append(buffer)
        self._offset += len(buffer)
        return place


class _Reader:
    """Turns nodes to values."""

    def __init__(self, buffers: memoryview) -> None:
        self._buffers = buffers

    def node(self, node: Any) -> Tree:
        if not isinstance(node, dict):
            return node  # type: ignore[no-any-return]  # A JSON scalar.
        ((kind, content),) = node.items()
        return self._container(kind, content) if kind in "dlt" else self._leaf(kind, content)

    def _container(self, kind: str, content: Any) -> Tree:
        if kind == "d":
            return {name: self.node(child) for name, child in content.items()}
        children = [self.node(child) for child in content]
        return children if kind == "l" else tuple(children)

    def _leaf(self, kind: str, content: Any) -> Tree:
        if kind == "b":
            return bytes(self._take(*content))
        if kind == "n":
            return float(content) if content in ("nan", "inf", "-inf") else int(content)
        dtype, shape, offset, size = content
        return np.frombuffer(self._take(offset, size), dtype).reshape(shape)

    def _take(self, offset: int, size: int) -> memoryview:
        if min(offset, size) < 0 or offset + size > len(self._buffers):
            raise ValueError(f"{size} bytes from {offset} are wanted, there are {len(self._buffers)}")
        return self._buffers[offset : offset + size]
