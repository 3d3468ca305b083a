"""Reads the model that a config or a command names: a clone, a checkpoint, a folder, or a registered version."""

import tempfile
from pathlib import Path

from app.config.root import ExperimentConfig
from app.errors import CheckpointError
from app.models.pool import CLONES, ModelPool, Source
from app.models.reference import REGISTERED, ModelReferences
from app.models.saved import read_meta, read_model
from app.stores.mlflow_store import ModelRegistry, tracking_uri


class ModelSources:
    """Looks in the folders of a project and in its experiment store."""

    def __init__(self, config: ExperimentConfig, home: Path) -> None:
        """Keeps the names.

        Args:
          config: Names the trial and the experiment store.
          home: State root of the project.
        """
        self.home = home
        self.pool = ModelPool(home / config.run.trial / CLONES)
        self.references = ModelReferences(home, config.run.trial)
        self._registry = ModelRegistry(tracking_uri(config.tracking.mlflow_uri, home), home)

    def read(self, reference: str) -> Source:
        """Returns the weights that a name stands for, and what they are.

        Raises:
          CheckpointError: There is no such model, or its files are damaged.
          TrackingError: There is no such registered version, or MLflow does not answer.
        """
        return self._download(reference) if reference.startswith(REGISTERED) else self.references.read(reference)

    def folder(self, reference: str, model: str) -> Path:
        """Returns a folder with the model that stays: a registered version becomes a frozen clone of the trial.

        Args:
          reference: Name of the weights.
          model: Model of the config that they are for.

        Raises:
          CheckpointError: There is no such model, its files are damaged, or the clone cannot be written.
          TrackingError: There is no such registered version, or MLflow does not answer.
        """
        if not reference.startswith(REGISTERED):
            return self.references.find(reference)
        return self.pool.folder(self.pool.clone(self._download(reference), model, frozen=True).id)

    def _download(self, reference: str) -> Source:
        origin = self._registry.exact(reference)
        with tempfile.TemporaryDirectory() as temporary:
            folder = self._registry.download(origin, Path(temporary))
            saved, meta = read_model(folder), read_meta(folder)
        step = meta.get("step")
        return Source(saved, origin, self._known(meta.get("id")), step if isinstance(step, int) else None)

    def _known(self, clone_id: object) -> str | None:
        """Returns the clone that was registered, where it is in this pool."""
        if not isinstance(clone_id, str):
            return None
        try:
            return self.pool.find(clone_id).id
        except CheckpointError:
            return None
