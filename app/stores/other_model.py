"""Any model that a command names, ready to answer: a checkpoint, a clone, a registered version, a folder or a file."""

from pathlib import Path
from typing import Final

from app.config.root import ExperimentConfig
from app.errors import ConfigError, ExportError, ModelMismatchError
from app.home import state_root
from app.models.engines import Network
from app.models.export.graph import Graph
from app.models.module import hash_of, spec_of
from app.models.onnx_file import OnnxFile
from app.models.placement import LocalModel
from app.models.reference import REGISTERED
from app.models.spec import ModelSpec
from app.models.torch_engine import TorchEngine
from app.stores.model_sources import ModelSources
from app.types import Arrays, Version

UNTRAINED: Final = "untrained"
"""Names the weights that are drawn from the seed."""
ONNX: Final = ".onnx"
GRAPH: Final = "model.onnx"
"""File of a release that ``sparring export`` has written."""


def other_model(config: ExperimentConfig, name: str, reference: str) -> LocalModel:
    """Returns a model that answers in this process.

    Args:
      config: With the model.
      name: Of the model in the config.
      reference: ``champion`` or another alias, a number, ``models:/…``, a clone, ``checkpoints/latest``, the folder of
        a model or of a release, an ``.onnx`` file, or ``untrained``.

    Raises:
      ConfigError: The config has no such model.
      SparringError: It cannot be had, or is of another network.
    """
    if name not in config.models:
        raise ConfigError(f"the config has no model {name!r}; it has {', '.join(config.models) or 'none'}")
    own = config.models[name]
    home = state_root(config.run.project)
    network = Network(own.factory, own.kwargs, config.run.seed, home)
    graph = _graph_of(Path(reference).expanduser())
    if graph is not None:
        return LocalModel(TorchEngine(_release(graph, spec_of(network.build()))), _no_weights)
    engine = network.make_engine()
    if reference != UNTRAINED:
        saved = ModelSources(config, home).read(_qualified(config, name, reference)).saved
        saved.check(hash_of(network.build()), reference, own.factory)
        engine.swap(Version.parse(saved.version), engine.build(saved.arrays))
    return LocalModel(engine, _no_weights)


def _graph_of(path: Path) -> Path | None:
    """Returns the graph of a release, or the one that is named itself; None where neither is meant."""
    if path.suffix == ONNX and path.is_file():
        return path
    return path / GRAPH if (path / GRAPH).is_file() else None


def _release(path: Path, spec: ModelSpec) -> OnnxFile:
    """Returns the network of a graph that ``sparring export`` has written.

    Raises:
      ExportError: It has other inputs or outputs than the model of the config.
    """
    try:
        return OnnxFile(Graph(path.read_bytes(), ()), spec)
    except Exception as error:  # The binding raises classes of its own without a common base.
        raise ExportError(
            f"{path} is no release of the model: {error}; allowed is what sparring export has written"
        ) from error


def _qualified(config: ExperimentConfig, name: str, reference: str) -> str:
    """Returns a reference as ``ModelSources`` takes it: a number or an alias is one of the registered model."""
    registered = f"{REGISTERED}{config.run.project}.{name}"
    if reference.isdecimal():
        return f"{registered}/{reference}"
    if Path(reference).expanduser().is_dir():  # Else names are looked up below the trial.
        return str(Path(reference).expanduser().absolute())
    return reference if "/" in reference else f"{registered}@{reference}"


async def _no_weights(version: Version) -> Arrays:
    raise ModelMismatchError(f"one version answers here; weights {version} are not kept")
