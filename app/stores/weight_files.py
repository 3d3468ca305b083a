"""The newest weights of each model on disk, so that they survive the store's process."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson
from safetensors import SafetensorError, safe_open

from app.errors import CheckpointError
from app.files import replace_file
from app.models.content import content_hash
from app.stores.weights_format import WeightsFile, WeightsMeta
from app.types import Arrays, Version

REFUSED: Final = ".refused"
"""Ends the name of a file that was not read, so that the next version does not replace it."""
DECLARED: Final = "models.json"
"""Name of the file that tells which models a service plays."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredWeights:
    """One model's file."""

    model: str
    meta: WeightsMeta
    arrays: Arrays

    @property
    def version(self) -> Version:
        """Version of the weights."""
        return self.meta.version


class WeightFiles:
    """One safetensors file a model; a write replaces the old file whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, stored: StoredWeights) -> None:
        """Replaces the model's file.

        Raises:
          OSError: The disk is full or the folder cannot be written.
          ValueError: An array is of a dtype that safetensors does not know.
        """
        file = WeightsFile(stored.arrays, stored.meta)
        self._folder.mkdir(parents=True, exist_ok=True)
        unfinished = self._folder / f".{stored.model}.unfinished"
        with unfinished.open("wb") as out:
            out.writelines(file.parts())
        unfinished.replace(self._folder / f"{stored.model}.safetensors")

    def declare(self, models: Mapping[str, tuple[str, int]]) -> None:
        """Keeps what a service plays: of each model the hash of its network, and its newest generation.

        Raises:
          OSError: The disk is full or the folder cannot be written.
        """
        replace_file(self._folder / DECLARED, orjson.dumps(models))

    def declared(self) -> dict[str, tuple[str, int]]:
        """Returns what was kept last; nothing where that is unreadable, which is logged."""
        path = self._folder / DECLARED
        try:
            found = orjson.loads(path.read_bytes())
            return {str(model): (str(spec_hash), int(generation)) for model, (spec_hash, generation) in found.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            _log.warning("%s is not read: %s", path, error)
            return {}

    def load(self) -> list[StoredWeights]:
        """Returns what the folder holds; a file that is refused is named in the log, and put aside."""
        found: list[StoredWeights] = []
        for path in sorted(self._folder.glob("*.safetensors")):
            try:
                found.append(read_weights(path))
            except CheckpointError as error:
                _log.error("%s; it is put aside as %s", error, path.name + REFUSED)
                path.replace(path.with_name(path.name + REFUSED))
        return found


def read_weights(path: Path) -> StoredWeights:
    """Returns the weights of a file.

    Raises:
      CheckpointError: It is damaged or of another schema; the message names it.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            meta = WeightsMeta.parse(file.metadata() or {})
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # Not a mapping.
        found = content_hash(arrays, meta.spec_hash)
    except (OSError, SafetensorError, ValueError) as error:
        raise CheckpointError(f"{path} holds no weights: {type(error).__name__}: {error}") from error
    if found != meta.content_hash:
        raise CheckpointError(f"{path} is damaged: its values have the hash {found}, written was {meta.content_hash}")
    return StoredWeights(path.stem, meta, arrays)
