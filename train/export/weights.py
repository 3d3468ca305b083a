"""Finds the weights that are to be exported."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from torch import nn

from app.config.root import ExperimentConfig
from app.home import state_root
from app.models.module import from_arrays, hash_of
from app.models.reference import REGISTERED
from app.stores.model_sources import ModelSources

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
      checkpoint: MLflow URI, clone, checkpoint or folder of a model, or ``untrained``. Without it and a version: the
        checkpoint of the config, else the champion.

    Raises:
      SparringError: They cannot be had, or are those of another network.
    """
    registered = f"{REGISTERED}{config.run.project}.{name}"
    wanted = checkpoint
    if version is not None:
        wanted = f"{registered}/{version}" if version.isdecimal() else f"{registered}@{version}"
    wanted = wanted or config.models[name].checkpoint or f"{registered}@champion"
    if wanted == UNTRAINED:
        return Found(UNTRAINED, None)
    if Path(wanted).is_dir():  # Else names are looked up below the trial.
        wanted = str(Path(wanted).absolute())
    source = ModelSources(config, state_root(config.run.project)).read(wanted)
    source.saved.check(hash_of(module), wanted, config.models[name].factory)
    from_arrays(module, source.saved.arrays)
    return Found(source.saved.version, _version(source.origin))


def _version(origin: str) -> tuple[str, int] | None:
    """Returns the name and number of a registered version, ``models:/name/3``; None for another origin."""
    if not origin.startswith(REGISTERED):
        return None
    name, _, number = origin.removeprefix(REGISTERED).partition("/")
    return name, int(number)
