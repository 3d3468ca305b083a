"""Finds the weights that are to be exported."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from torch import nn

from app.config.root import ExperimentConfig
from app.errors import CheckpointError, ModelMismatchError
from app.home import state_root
from app.models.module import from_arrays, hash_of
from app.models.saved import META, read_model
from app.stores.mlflow_reports import resolve
from app.stores.mlflow_store import ModelRegistry, tracking_uri
from train.checkpoint import FILE, load_state

MLFLOW: Final = "models:/"
UNTRAINED: Final = "untrained"
"""In place of a checkpoint: the weights that are drawn from the seed."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where weights came from."""

    version: str
    """Of the weights, as ``model.json`` names it."""
    registered: tuple[str, int] | None
    """Name and number of the registered version; None where they are none."""


def load_weights(
    config: ExperimentConfig, name: str, module: nn.Module, version: str | None, checkpoint: str | None
) -> Found:
    """Puts weights into a network and returns where they came from.

    Args:
      config: The trial's.
      name: The model's.
      module: Its network.
      version: Number or alias of the registered model.
      checkpoint: MLflow URI, a folder of a model or of a checkpoint, or ``untrained``. Without it and a version: the
        checkpoint of the config, else the champion.

    Raises:
      SparringError: They cannot be had, or are those of another network.
    """
    registered = f"{config.run.project}.{name}"
    wanted = checkpoint
    if version is not None:
        wanted = f"{MLFLOW}{registered}/{version}" if version.isdecimal() else f"{MLFLOW}{registered}@{version}"
    wanted = wanted or config.models[name].checkpoint or f"{MLFLOW}{registered}@champion"
    if wanted == UNTRAINED:
        return Found(UNTRAINED, None)
    if wanted.startswith(MLFLOW):
        return _registered(config, module, wanted)
    return Found(_from_folder(module, Path(wanted)), None)


def _registered(config: ExperimentConfig, module: nn.Module, uri: str) -> Found:
    root = state_root(config.run.project)
    tracking = tracking_uri(config.tracking.mlflow_uri, root)
    with tempfile.TemporaryDirectory() as folder:
        version = _from_folder(module, ModelRegistry(tracking, root).download(uri, Path(folder)))
    return Found(version, resolve(tracking, uri))


def _from_folder(module: nn.Module, folder: Path) -> str:
    if (folder / META).is_file():
        saved = read_model(folder)
        if saved.spec_hash != hash_of(module):
            raise ModelMismatchError(
                f"{folder} holds weights of {saved.factory} with the shapes {saved.spec_hash}; the config builds "
                f"{hash_of(module)}"
            )
        from_arrays(module, saved.arrays)
        return saved.version
    if (folder / FILE).is_file():
        state = load_state(folder)
        state.check(hash_of(module))
        module.load_state_dict(state.model)
        return folder.name
    raise CheckpointError(f"{folder} holds neither {META} nor {FILE}: it is no folder of a model or of a checkpoint")
