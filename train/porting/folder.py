"""Writes a ported network as a folder that serves it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from torch import Tensor

from app.errors import CheckpointError, ConfigError
from app.models.folders import write_folder
from app.models.module import arrays_of, build_module, from_arrays, hash_of, to_arrays
from app.models.networks.policy import FACTORY
from app.models.saved import SavedModel, write_model

CONFIG: Final = "config.yaml"
SERVE: Final = "serve_config.yaml"
FIRST_VERSION: Final = "1.0"


def saved_model(kwargs: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> SavedModel:
    """Returns a network of ours with these weights.

    Raises:
      ConfigError: The network cannot be built, or the weights are not all of its parameters.
      ModelMismatchError: A weight has another shape.
    """
    module = build_module(FACTORY, kwargs, seed=0)
    missing = sorted(name for name, _ in module.named_parameters() if name not in tensors)
    if missing:
        raise ConfigError(f"the file has no weights for {', '.join(missing)}")
    # Buffers that the other side does not have, such as the support of returns, stay as they are.
    from_arrays(module, to_arrays(module) | arrays_of(tensors))
    return SavedModel(FACTORY, dict(kwargs), hash_of(module), FIRST_VERSION, to_arrays(module))


def write_served(folder: Path, model: SavedModel, project: str, origin: Mapping[str, str]) -> None:
    """Writes weights, a config that serves them, and one for ``serve run``.

    Args:
      folder: Where; it must not hold anything yet.
      model: What is served.
      project: Name of the project in the config.
      origin: Of the weights, for ``model.json``.

    Raises:
      CheckpointError: It cannot be written.
    """
    folder = folder.absolute()
    config = {
        "run": {"project": project, "trial": "imported", "mode": "deploy"},
        "models": {"main": {"factory": model.factory, "kwargs": dict(model.kwargs), "checkpoint": str(folder)}},
        "agents": {"player": {"model": "main"}},
        "actors": {"main": {"agents": ["player"]}},
    }
    serve = {
        "proxy_location": "HeadOnly",
        "http_options": {"host": "127.0.0.1", "port": 8000},
        "applications": [
            {
                "name": project,
                "route_prefix": "/",
                "import_path": "deployments.build:build",
                "args": {"config": str(folder / CONFIG)},
            }
        ],
    }

    def fill(target: Path) -> None:
        write_model(target, model, {"origin": dict(origin)})
        for name, tree in ((CONFIG, config), (SERVE, serve)):
            plain = json.loads(json.dumps(tree))
            (target / name).write_text(yaml.safe_dump(plain, sort_keys=False, width=120), encoding="utf-8")

    try:
        write_folder(folder, fill)
    except OSError as error:
        raise CheckpointError(f"{folder} cannot be written: {error.strerror or error}; take a new folder") from error
