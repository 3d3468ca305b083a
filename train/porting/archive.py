"""What a model file of Stable-Baselines3 holds, read without running anything of it.

The file is a zip: ``policy.pth`` are the network's weights, ``data`` is JSON. Objects stand in ``data`` as pickles,
beside what of them could be written as text. Only the text is read; a pickle is never loaded.
"""

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final

import torch
from torch import Tensor

from app.errors import ConfigError

DATA: Final = "data"
WEIGHTS: Final = "policy.pth"
VERSION: Final = "_stable_baselines3_version"
MAX_DATA_BYTES: Final = 256 * 2**20
"""More than spaces and the last observations of many environments."""
MAX_WEIGHTS_BYTES: Final = 4 * 2**30
MAX_VERSION_BYTES: Final = 100
PICKLED: Final = ":serialized:"
"""Key of ``data`` under which an object's pickle stands."""


@dataclass(frozen=True, slots=True)
class Sb3Archive:
    """A model file.

    Attributes:
      where: The file, for messages.
      data: What it says of the model, without pickles: plain values, and of an object its parts as text.
      tensors: The network's weights by their names there.
      version: Of Stable-Baselines3; "unknown" where the file does not tell.
    """

    where: str
    data: Mapping[str, Any]
    tensors: Mapping[str, Tensor]
    version: str


def read_archive(path: Path) -> Sb3Archive:
    """Returns what a model file holds.

    Raises:
      ConfigError: It cannot be read, is no such file, is too large, or holds weights that would have to be unpickled.
    """
    try:
        with zipfile.ZipFile(path) as file:
            data = _data(_member(file, DATA, MAX_DATA_BYTES), path)
            weights = _member(file, WEIGHTS, MAX_WEIGHTS_BYTES)
            known = VERSION in file.namelist()
            version = _member(file, VERSION, MAX_VERSION_BYTES).decode(errors="replace") if known else "unknown"
    except (OSError, zipfile.BadZipFile, KeyError, RuntimeError, NotImplementedError) as error:
        raise ConfigError(f"{path}: is no model file of Stable-Baselines3 ({error}); allowed is a zip") from error
    return Sb3Archive(str(path), data, _tensors(weights, path), version.strip())


def _member(file: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Returns a part of the file; one that would be larger is refused before it is unpacked.

    Raises:
      ConfigError: It is larger.
      KeyError: There is none.
    """
    size = file.getinfo(name).file_size
    if size > most:
        raise ConfigError(f"{file.filename}: {name} has {size} bytes; allowed are {most}")
    with file.open(name) as part:
        return part.read(most)


def _data(text: bytes, path: Path) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{path}: {DATA} is no JSON: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: {DATA} is a {type(data).__name__}; allowed is an object")
    return {name: _without_pickles(value) for name, value in data.items()}


def _without_pickles(value: Any) -> Any:
    return {name: part for name, part in value.items() if name != PICKLED} if isinstance(value, dict) else value


def _tensors(weights: bytes, path: Path) -> dict[str, Tensor]:
    try:
        with zipfile.ZipFile(io.BytesIO(weights)) as inside:
            size = sum(part.file_size for part in inside.infolist())
        if size > MAX_WEIGHTS_BYTES:
            raise ConfigError(f"{path}: {WEIGHTS} unpacks to {size} bytes; allowed are {MAX_WEIGHTS_BYTES}")
        found = torch.load(io.BytesIO(weights), map_location="cpu", weights_only=True)
    except (zipfile.BadZipFile, UnpicklingError, RuntimeError, EOFError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"{path}: {WEIGHTS} holds more than tensors, or is damaged: {reason}") from error
    if not isinstance(found, dict) or not all(isinstance(x, Tensor) for x in found.values()):
        raise ConfigError(f"{path}: {WEIGHTS} is no table of tensors by name")
    broken = sorted(str(name) for name, x in found.items() if not bool(torch.isfinite(x).all()))
    if broken:
        raise ConfigError(f"{path}: {', '.join(broken)} hold numbers that are not finite")
    return {str(name): x for name, x in found.items()}
