"""A model on disk: weights, and what is needed to build the network that they fit."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from app.errors import CheckpointError, ModelMismatchError
from app.models.content import content_hash
from app.types import Arrays

SCHEMA_VERSION: Final = 1
WEIGHTS: Final = "weights.safetensors"
META: Final = "model.json"


@dataclass(frozen=True, slots=True)
class SavedModel:
    """Weights with their origin."""

    factory: str
    kwargs: Mapping[str, Any]
    spec_hash: str
    version: str
    """Version of the weights, ``generation.number``."""
    arrays: Arrays

    def check(self, spec_hash: str, what: str, factory: str) -> None:
        """Does nothing where the weights fit a network.

        Args:
          spec_hash: Of the network.
          what: How a message names these weights, such as ``models.main.checkpoint clones/0123``.
          factory: What builds the network.

        Raises:
          ModelMismatchError: They are of another network.
        """
        if self.spec_hash != spec_hash:
            raise ModelMismatchError(
                f"{what} was saved by {self.factory} with the shapes {self.spec_hash}; {factory} builds {spec_hash}"
            )


def write_model(folder: Path, model: SavedModel, more: Mapping[str, object] | None = None) -> None:
    """Writes a model into an existing folder.

    Args:
      folder: Where.
      model: What.
      more: Further fields of ``model.json``; None means none.

    Raises:
      OSError: The disk is full or the folder cannot be written.
    """
    save_file({name: _dense(array) for name, array in model.arrays.items()}, folder / WEIGHTS)
    write_meta(folder, model, more)


def write_meta(folder: Path, model: SavedModel, more: Mapping[str, object] | None = None) -> None:
    """Writes ``model.json`` beside weights that are there already.

    Raises:
      OSError: The disk is full or the folder cannot be written.
    """
    meta = {
        "schema_version": SCHEMA_VERSION,
        "factory": model.factory,
        "kwargs": dict(model.kwargs),
        "spec_hash": model.spec_hash,
        "version": model.version,
        "hash": content_hash(model.arrays, model.spec_hash),
        **(more or {}),
    }
    (folder / META).write_text(json.dumps(meta, indent=2))


def read_meta(folder: Path) -> dict[str, Any]:
    """Returns what ``model.json`` says, without a look at the weights.

    Raises:
      CheckpointError: It is missing, damaged or of another schema.
    """
    try:
        meta: dict[str, Any] = json.loads((folder / META).read_text())
        if meta["schema_version"] != SCHEMA_VERSION:
            raise CheckpointError(f"{folder} has schema version {meta['schema_version']}; allowed is {SCHEMA_VERSION}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _no_model(folder, error) from error
    return meta


def read_model(folder: Path) -> SavedModel:
    """Returns the model that a folder holds.

    Raises:
      CheckpointError: A file is missing, damaged or of another schema.
    """
    meta = read_meta(folder)
    try:
        arrays = load_file(folder / WEIGHTS)
        saved = SavedModel(meta["factory"], meta["kwargs"], meta["spec_hash"], meta["version"], arrays)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise _no_model(folder, error) from error
    recorded, got = meta.get("hash"), content_hash(saved.arrays, saved.spec_hash)
    if recorded not in (None, got):
        raise CheckpointError(f"{folder} holds no model: its weights have the hash {got}, {META} says {recorded}")
    return saved


def _no_model(folder: Path, error: Exception) -> CheckpointError:
    return CheckpointError(f"{folder} holds no model: {type(error).__name__}: {error}")


def _dense(array: np.ndarray[Any, np.dtype[np.generic]]) -> np.ndarray[Any, np.dtype[np.generic]]:
    """Returns the array in row order, little-endian, as a safetensors file needs it."""
    return np.asarray(array, array.dtype.newbyteorder("<"), order="C")
