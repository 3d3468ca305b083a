"""A model on disk: weights, and what is needed to build the network that they fit."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from app.errors import CheckpointError
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


def write_model(folder: Path, model: SavedModel) -> None:
    """Writes a model into an existing folder.

    Raises:
      OSError: The disk is full or the folder cannot be written.
    """
    save_file(model.arrays, folder / WEIGHTS)
    meta = {
        "schema_version": SCHEMA_VERSION,
        "factory": model.factory,
        "kwargs": dict(model.kwargs),
        "spec_hash": model.spec_hash,
        "version": model.version,
    }
    (folder / META).write_text(json.dumps(meta, indent=2))


def read_model(folder: Path) -> SavedModel:
    """Returns the model that a folder holds.

    Raises:
      CheckpointError: A file is missing, damaged or of another schema.
    """
    try:
        meta = json.loads((folder / META).read_text())
        if meta["schema_version"] != SCHEMA_VERSION:
            raise CheckpointError(f"{folder} has schema version {meta['schema_version']}; allowed is {SCHEMA_VERSION}")
        arrays = load_file(folder / WEIGHTS)
        return SavedModel(meta["factory"], meta["kwargs"], meta["spec_hash"], meta["version"], arrays)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise CheckpointError(f"{folder} holds no model: {type(error).__name__}: {error}") from error
