"""Weights as the bytes of a safetensors file, without a copy of them; no I/O."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from app.types import Arrays, Version

SCHEMA_VERSION: Final = 1
"""Of the metadata."""
PART_BYTES: Final = 256 * 1024
"""Largest part of a file that is handed on at once: an event loop sends it in a fraction of a millisecond."""

_DTYPES: Final = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32", "int32": "I32",
    "uint64": "U64", "int64": "I64", "float16": "F16", "float32": "F32", "float64": "F64",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class WeightsMeta:
    """What is known of one version of a model's weights."""

    spec_hash: str
    """Hash of the shapes of the model."""
    version: Version
    content_hash: str
    """Of spec hash and arrays; see ``app.models.content``."""
    parent: Version | None
    """Version that these weights were learned from; None where that is not known."""
    published_s: float
    """Unix seconds at which they came."""

    def as_text(self) -> dict[str, str]:
        """Returns the metadata of a safetensors file."""
        return {
            "schema_version": str(SCHEMA_VERSION),
            "spec_hash": self.spec_hash,
            "version": str(self.version),
            "content_hash": self.content_hash,
            "parent": "" if self.parent is None else str(self.parent),
            "published_s": repr(self.published_s),
        }

    @classmethod
    def parse(cls, text: Mapping[str, str]) -> Self:
        """Returns the metadata that a file holds.

        Raises:
          ValueError: They are of another schema, or incomplete.
        """
        found = text.get("schema_version")
        if found != str(SCHEMA_VERSION):
            raise ValueError(f"schema_version is {found!r}, allowed is {SCHEMA_VERSION}")
        try:
            return cls(
                text["spec_hash"],
                Version.parse(text["version"]),
                text["content_hash"],
                Version.parse(text["parent"]) if text["parent"] else None,
                float(text["published_s"]),
            )
        except KeyError as error:
            raise ValueError(f"the metadata lack {error}") from error


def size_of(arrays: Arrays) -> int:
    """Returns the bytes of the arrays together."""
    return sum(array.nbytes for array in arrays.values())


class WeightsFile:
    """The bytes of a safetensors file: a head, and behind it the arrays where they lie in memory."""

    def __init__(self, arrays: Arrays, meta: WeightsMeta) -> None:
        """Lays the file out.

        Raises:
          ValueError: An array is of a dtype that safetensors does not know.
        """
        order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
        self._arrays = [_plain(arrays[name]) for name in order]
        head: dict[str, object] = {"__metadata__": meta.as_text()}
        at = 0
        for name, array in zip(order, self._arrays, strict=True):
            if array.dtype.name not in _DTYPES:
                raise ValueError(f"{name} is {array.dtype}; safetensors holds {', '.join(_DTYPES)}")
            end = at + array.nbytes
            head[name] = {"dtype": _DTYPES[array.dtype.name], "shape": list(array.shape), "data_offsets": [at, end]}
            at = end
        text = json.dumps(head, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        self._head = len(text).to_bytes(8, "little") + text
        self.size_bytes = len(self._head) + at

    def parts(self) -> Iterator[bytes | memoryview]:
        """Returns the file in parts of at most ``PART_BYTES``, but for the head; nothing is copied."""
        yield self._head
        for array in self._arrays:
            whole = _memory(array)
            for at in range(0, len(whole), PART_BYTES):
                yield whole[at : at + PART_BYTES]


def _plain(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Returns the array as contiguous little-endian memory, which it nearly always is already."""
    return np.require(array, array.dtype.newbyteorder("<"), "C")


def _memory(array: NDArray[np.generic]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")
