"""Makes weights a registered model version."""

import tempfile
from pathlib import Path
from typing import Final

from app.config.root import ExperimentConfig
from app.models.module import build_module, hash_of
from app.models.saved import SavedModel, write_model
from app.stores.mlflow_store import ModelRegistry
from app.stores.trial import Trial
from app.types import Version
from train.tracking import Tracker

CHAMPION: Final = "champion"
OPEN_TIMEOUT_S: Final = 60.0
"""Longest wait for MLflow to open the run."""


def promote(
    config: ExperimentConfig, model: str, trial: Trial, version: Version, tracker: Tracker, registry: ModelRegistry
) -> int:
    """Registers weights as ``project.model`` with the alias ``champion`` and returns the number of the model version.

    Raises:
      ModelMismatchError: The weights are no longer kept.
      TrackingError: MLflow does not take them.
    """
    own = config.models[model]
    module = build_module(own.factory, own.kwargs, config.run.seed)
    saved = SavedModel(own.factory, own.kwargs, hash_of(module), str(version), trial.weights(model).load(version))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_model(folder, saved)
        tags = {"trial": config.run.trial, "version": str(version), "spec_hash": saved.spec_hash}
        run_id = tracker.run_id(OPEN_TIMEOUT_S)
        return registry.register(f"{config.run.project}.{model}", folder, run_id, tags, CHAMPION)
