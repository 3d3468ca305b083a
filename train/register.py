"""Registers a clone as a model version, under a run of its own."""

from pathlib import Path

from app.config.root import ExperimentConfig
from app.errors import TrackingError
from app.models.lineage import Clone
from app.models.saved import read_meta
from app.stores.mlflow_connection import failures
from app.stores.mlflow_store import ModelRegistry, tracking_uri
from train.mlflow_run import MlflowRun, TrackedTrial, git_commit
from train.promote import version_tags


def register_clone(
    config: ExperimentConfig, home: Path, clone: Clone, folder: Path, alias: str, rating: float | None
) -> tuple[str, int]:
    """Registers a clone and returns the name of the registered model and the number of the version.

    Args:
      config: Names project, trial and tracking store.
      home: State root of the project.
      clone: What is registered.
      folder: Its files.
      alias: Name that moves to the new version.
      rating: How strong it is; None where nobody has rated it.

    Raises:
      TrackingError: The store cannot be reached or refuses.
    """
    uri = tracking_uri(config.tracking.mlflow_uri, home)
    registry = ModelRegistry(uri, home)
    name, meta = f"{config.run.project}.{clone.model}", read_meta(folder)
    tags = version_tags(
        trial=config.run.trial,
        version=meta["version"],
        spec_hash=meta["spec_hash"],
        hash=clone.hash,
        step=clone.step,
        parent=clone.parent or clone.origin,
        rating=rating,
        clone=clone.id,
    )
    run = MlflowRun(
        uri,
        home,
        TrackedTrial(config.run.project, config.run.trial, config.model_dump(mode="json"), git_commit(Path.cwd())),
    )
    known = failures()
    try:
        run.open()
        number = registry.register(name, folder, str(run.run_id), tags, alias)
        run.end("FINISHED")
    except known as error:
        raise TrackingError(f"cannot register clone {clone.id} as {name}: {error}") from error
    return name, number
