"""The newest weights of each model on disk, so that they survive the store's process."""

import logging
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from app.types import Arrays, Version

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredWeights:
    """One model's file."""

    model: str
    spec_hash: str
    version: Version
    arrays: Arrays


class WeightFiles:
    """One safetensors file a model; a write replaces the old file whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, stored: StoredWeights) -> None:
        """Replaces the model's file.

        Raises:
          OSError: The disk is full or the folder cannot be written.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        unfinished = self._folder / f".{stored.model}.unfinished"
        save_file(stored.arrays, unfinished, {"spec_hash": stored.spec_hash, "version": str(stored.version)})
        unfinished.replace(self._folder / f"{stored.model}.safetensors")

    def load(self) -> list[StoredWeights]:
        """Returns what the folder holds; a damaged file is passed over with a warning."""
        found = (_read(path) for path in sorted(self._folder.glob("*.safetensors")))
        return [stored for stored in found if stored is not None]


def _read(path: Path) -> StoredWeights | None:
    try:
        with safe_open(path, framework="numpy") as file:
            meta = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # Not a mapping.
        return StoredWeights(path.stem, meta["spec_hash"], Version.parse(meta["version"]), arrays)
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        _log.warning("%s holds no weights and is passed over: %s: %s", path, type(error).__name__, error)
        return None
