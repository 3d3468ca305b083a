"""Batches to compare a graph with its network: drawn at random, or recorded from games."""

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from app.errors import ExportError
from app.models.distributions.distribution import Mask
from app.models.question import Leaves
from app.models.spec import ArraySpec, ModelSpec

INTEGERS_BELOW: Final = 2
"""Random whole numbers are 0 or 1, which any network takes; pictures use their whole range."""
PIXELS_BELOW: Final = 256


@dataclass(frozen=True, slots=True)
class Samples:
    """Rows that a network can be asked about."""

    inputs: Leaves
    """Leaves of the observation, each [N, …]."""
    states: Leaves
    """Leaves of the state, each [N, …]."""
    masks: Sequence[Mask | None]
    """Of each leaf of the action, [N, choices]; None allows all."""
    recorded: bool
    """Whether they come from games."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.inputs[0])

    def head(self, rows: int) -> "Samples":
        """Returns the first rows."""
        masks = [None if mask is None else mask[:rows] for mask in self.masks]
        return Samples([x[:rows] for x in self.inputs], [x[:rows] for x in self.states], masks, self.recorded)


def random_samples(spec: ModelSpec, rows: int, seed: int) -> Samples:
    """Returns rows of random numbers, states included; with zeros many a mistake would not show."""
    rng = np.random.default_rng(seed)
    inputs = [random_array(leaf, rows, rng) for leaf in spec.inputs.leaves]
    states = [random_array(leaf, rows, rng) for leaf in spec.states.leaves]
    return Samples(inputs, states, [None] * len(spec.actions), recorded=False)


def read_samples(path: Path, spec: ModelSpec) -> Samples:
    """Returns the rows of an NPZ or safetensors file with an array for each leaf.

    The names are ``observation`` and, where the model has them, ``state`` and ``action_mask``, each with the leaf's
    path behind a slash where it has one. Without a state all rows begin a game; without a mask all choices are allowed.

    Raises:
      ExportError: It cannot be read, or an array is missing or of another shape.
    """
    arrays = _read(path)
    inputs = [
        _fitting(path, arrays, name, leaf)
        for name, leaf in zip(spec.inputs.columns("observation"), spec.inputs.leaves, strict=True)
    ]
    rows = len(inputs[0])
    if not rows or any(len(leaf) != rows for leaf in inputs):
        raise ExportError(f"{path} has leaves of {[len(leaf) for leaf in inputs]} rows; allowed is one number above 0")
    states = [
        _fitting(path, arrays, name, leaf, rows) if name in arrays else np.zeros((rows, *leaf.shape), leaf.dtype)
        for name, leaf in zip(spec.states.columns("state"), spec.states.leaves, strict=True)
    ]
    masks = [
        _fitting(path, arrays, name, ArraySpec((leaf.choices,), "bool"), rows).astype(bool) if name in arrays else None
        for name, leaf in zip(spec.actions.columns("action_mask"), spec.actions.leaves, strict=True)
    ]
    return Samples(inputs, states, masks, recorded=True)


def random_array(leaf: ArraySpec, rows: int, rng: np.random.Generator) -> NDArray[np.generic]:
    """Returns random rows of one leaf, [rows, …]: normal numbers, bytes of all values, else 0 and 1."""
    shape, dtype = (rows, *leaf.shape), np.dtype(leaf.dtype)
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    below = PIXELS_BELOW if dtype == np.uint8 else INTEGERS_BELOW
    return rng.integers(0, below, shape).astype(dtype)


def _read(path: Path) -> dict[str, NDArray[np.generic]]:
    try:
        if path.suffix == ".safetensors":
            return dict(load_file(path))
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, AttributeError, EOFError, zipfile.BadZipFile, SafetensorError) as error:
        raise ExportError(
            f"{path} holds no observations: {error}; allowed are .npz and .safetensors with an array for each leaf"
        ) from error


def _fitting(
    path: Path, arrays: dict[str, NDArray[np.generic]], name: str, leaf: ArraySpec, rows: int | None = None
) -> NDArray[np.generic]:
    if name not in arrays:
        raise ExportError(f"{path} has no array {name}; it has {', '.join(sorted(arrays)) or 'none'}")
    array = arrays[name]
    wanted = "N" if rows is None else rows
    if array.ndim == 0 or array.shape[1:] != leaf.shape or (rows is not None and len(array) != rows):
        raise ExportError(f"{path} has {name} of shape {array.shape}; the model takes [{wanted}, *{leaf.shape}]")
    if not np.can_cast(array.dtype, leaf.dtype, "same_kind"):
        raise ExportError(f"{path} has {name} of dtype {array.dtype}; the model takes {leaf.dtype}")
    return array.astype(leaf.dtype)
