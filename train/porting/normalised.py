"""Statistics of ``VecNormalize``, exported by its owner: a pickle there, plain arrays here."""

import zipfile
from pathlib import Path
from typing import Final

import numpy as np
import torch

from app.errors import ConfigError
from app.models.networks.normaliser import LARGEST, SMALLEST_VARIANCE
from train.porting.encoding import Tensors
from train.porting.spaces import Observation, Seen

MAX_BYTES: Final = 2**30
CLIP, EPSILON, COUNT = "clip", "epsilon", "count"


def read_statistics(path: Path, observation: Observation) -> Tensors:
    """Returns the weights of our normaliser.

    The file holds ``mean``, ``variance``, ``clip``, ``epsilon`` and ``count``; where an observation has parts, they
    are ``mean/<name>`` and ``variance/<name>``.

    Raises:
      ConfigError: The file cannot be read, lacks an array, or cuts elsewhere than our normaliser.
    """
    arrays = _read(path)
    clip, epsilon, count = (_number(path, arrays, name) for name in (CLIP, EPSILON, COUNT))
    if clip != LARGEST:
        raise ConfigError(f"{path}: {CLIP} is {clip:g}; allowed is {LARGEST:g}, where our normaliser cuts")
    parts = {"": observation} if isinstance(observation, Seen) else dict(sorted(observation.items()))
    found: Tensors = {"normaliser.count": torch.tensor(count, dtype=torch.float64)}
    for number, (name, seen) in enumerate(parts.items()):
        if seen.dtype != "float32":
            continue
        behind = f"/{name}" if name else ""
        mean, variance = (_array(path, arrays, f"{what}{behind}", seen.shape) for what in ("mean", "variance"))
        found[f"normaliser.mean_{number}"] = torch.from_numpy(mean)
        # Ours adds a constant of its own to the variance.
        found[f"normaliser.variance_{number}"] = torch.from_numpy(variance + epsilon - SMALLEST_VARIANCE)
    return {name: tensor if name.endswith("count") else tensor.float() for name, tensor in found.items()}


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        with zipfile.ZipFile(path) as file:
            size = sum(part.file_size for part in file.infolist())
        if size > MAX_BYTES:
            raise ConfigError(f"{path}: unpacks to {size} bytes; allowed are {MAX_BYTES}")
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise ConfigError(
            f"{path}: is no file of plain arrays (.npz): {error}; docs/porting-sb3.md exports one"
        ) from error


def _number(path: Path, arrays: dict[str, np.ndarray], name: str) -> float:
    return float(_array(path, arrays, name, ()))


def _array(path: Path, arrays: dict[str, np.ndarray], name: str, shape: tuple[int, ...]) -> np.ndarray:
    array = arrays.get(name)
    if array is None or array.shape != shape or array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        got = "missing" if array is None else f"{array.dtype} {list(array.shape)}"
        raise ConfigError(f"{path}: {name} is {got}; allowed are finite numbers of the shape {list(shape)}")
    return array.astype(np.float64)
