"""What weights are, as one hash."""

import hashlib
import json
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray


def content_hash(arrays: Mapping[str, NDArray[np.generic]], spec_hash: str) -> str:
    """Returns the sha256 of a model: of its spec hash, and of names, dtypes, shapes and values of its tensors.

    The order of the names, the byte order and the layout in memory do not matter.
    """
    names = sorted(arrays)
    head = [spec_hash, [[name, arrays[name].dtype.name, list(arrays[name].shape)] for name in names]]
    digest = hashlib.sha256(json.dumps(head).encode())  # Ends with its own bracket: no tensor can be taken for it.
    for name in names:
        digest.update(_bytes(arrays[name]))
    return digest.hexdigest()


def _bytes(array: NDArray[np.generic]) -> memoryview:
    """Returns the values in row order, little-endian."""
    little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    return np.ascontiguousarray(little).reshape(-1).view(np.uint8).data
