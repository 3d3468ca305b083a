"""Makes published weights a registered model version, or a clone."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from app.config.root import ExperimentConfig
from app.models.lineage import Clone
from app.models.module import build_module, hash_of
from app.models.pool import Source
from app.models.saved import SavedModel, read_meta, write_model
from app.stores.mlflow_store import ModelRegistry
from app.stores.model_sources import ModelSources
from app.stores.trial import Trial
from app.types import Version
from train.tracking import Tracker


@dataclass(frozen=True, slots=True)
class Told:
    """What a model version tells of weights beside their shapes."""

    version: Version
    step: int
    """Updates that training had done when they were registered."""
    parent: str | None
    """What their training began with; None where that was drawn from the seed."""
    rating: float | None = None
    """How strong they are, as a league says; None where nobody has rated them."""


def promote(
    config: ExperimentConfig, model: str, trial: Trial, told: Told, tracker: Tracker, registry: ModelRegistry
) -> int:
    """Registers weights as ``project.model`` with the config's alias and returns the number of the model version.

    Raises:
      ModelMismatchError: The weights are no longer kept.
      TrackingError: MLflow does not take them.
    """
    saved = _published(config, model, trial, told.version)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_model(folder, saved, {"step": told.step})
        tags = version_tags(
            trial=config.run.trial,
            version=saved.version,
            spec_hash=saved.spec_hash,
            hash=read_meta(folder)["hash"],
            step=told.step,
            parent=told.parent,
            rating=told.rating,
        )
        run_id = tracker.run_id()
        return registry.register(f"{config.run.project}.{model}", folder, run_id, tags, config.tracking.alias)


def clone_version(
    config: ExperimentConfig, model: str, trial: Trial, told: Told, sources: ModelSources, *, frozen: bool
) -> Clone:
    """Sets published weights apart, as a child of the clone that their training began with, and returns the clone.

    Raises:
      ModelMismatchError: The weights are no longer kept.
      CheckpointError: The clone cannot be written.
    """
    saved = _published(config, model, trial, told.version)
    parent = None if told.parent is None else sources.references.owner(sources.home / told.parent)
    origin = f"version {told.version} of {model}"
    return sources.pool.clone(Source(saved, origin, parent, told.step), model, frozen=frozen)


def version_tags(**known: str | float | None) -> dict[str, str]:
    """Returns the tags of a model version; what is None has none."""
    return {name: str(value) for name, value in known.items() if value is not None}


def _published(config: ExperimentConfig, model: str, trial: Trial, version: Version) -> SavedModel:
    own = config.models[model]
    module = build_module(own.factory, own.kwargs, config.run.seed)
    return SavedModel(own.factory, own.kwargs, hash_of(module), str(version), trial.weights(model).load(version))
