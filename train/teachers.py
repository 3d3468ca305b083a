"""Frozen policies that the algorithms of a trainer name as teachers."""

from collections.abc import Mapping
from pathlib import Path

from torch import nn

from app.algorithms.anchors import teacher_problem
from app.config.from_trajectories import Online
from app.config.root import ExperimentConfig
from app.errors import CheckpointError
from app.models.module import build_module, from_arrays, hash_of, spec_of
from app.models.saved import read_model
from app.models.spec import ModelSpec
from app.stores.model_sources import ModelSources


def find_teachers(config: ExperimentConfig, trainer: str, home: Path, spec: ModelSpec) -> dict[int, str]:
    """Returns the folders of a trainer's teachers, by the places of their inputs; the driver decides once.

    A registered version becomes a frozen clone of the trial, so that workers which are started again find the same.

    Args:
      config: With the components of its mode.
      trainer: Which.
      home: State root of the project.
      spec: Shapes of the model that is trained.

    Raises:
      CheckpointError: There is no such model, its files are damaged, or it cannot teach this one.
      TrackingError: There is no such registered version.
      ModelMismatchError: Its network is built otherwise than when it was saved.
      PluginError: What builds its network cannot be imported.
    """
    found = {}
    settings = config.trainers[trainer]
    for at, one in enumerate(settings.inputs):
        if isinstance(one.algorithm, Online) and one.algorithm.teacher is not None:
            folder = ModelSources(config, home).folder(one.algorithm.teacher.checkpoint, settings.model)
            if problem := teacher_problem(spec_of(_loaded(folder)), spec):
                where = f"trainers.{trainer}.inputs.{at}.algorithm.teacher {one.algorithm.teacher.checkpoint}"
                raise CheckpointError(f"{where}: {problem}")
            found[at] = str(folder)
    return found


def load_teachers(folders: Mapping[int, str]) -> dict[int, nn.Module]:
    """Returns the networks that ``find_teachers`` has found, by the same places.

    Raises:
      CheckpointError: A file is gone or damaged.
    """
    return {at: _loaded(Path(folder)) for at, folder in folders.items()}


def _loaded(folder: Path) -> nn.Module:
    saved = read_model(folder)
    module = build_module(saved.factory, saved.kwargs, seed=0)
    saved.check(hash_of(module), f"teacher {folder}", saved.factory)
    from_arrays(module, saved.arrays)
    return module
