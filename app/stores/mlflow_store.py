"""MLflow as Sparring uses it: where the store is, and the registry that models are promoted to and served from."""

import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.errors import TrackingError
from app.stores.mlflow_connection import artifact_location, check, connect, failures, prepare, shown, tracking_uri

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

__all__ = ["ModelRegistry", "RegisteredVersion", "artifact_location", "check", "connect", "prepare", "tracking_uri"]

LATEST: Final = "latest"
"""MLflow resolves this alias itself to the newest version, and refuses to have it set."""
SHOWN: Final = 20
"""Names listed in an error message."""

_MODEL_URI: Final = re.compile(r"models:/(?P<name>[^/@:'\"]+)(?:@(?P<alias>[\w-]+)|/(?P<version>\d+))")
_MLMODEL: Final = """\
artifact_path: {path}
flavors:
  sparring:
    config: model.json
    weights: weights.safetensors
mlflow_version: {mlflow_version}
run_id: {run_id}
"""


@dataclass(frozen=True, slots=True)
class RegisteredVersion:
    """One version of a registered model."""

    number: int
    aliases: list[str]
    """Those that name it, without ``latest``."""
    tags: dict[str, str]


class ModelRegistry:
    """Keeps model folders (``weights.safetensors``, ``model.json``) as versions of named models.

    Every method blocks: seconds on the first call, which imports MLflow, then the time of the upload or download.
    """

    def __init__(self, uri: str, root: Path) -> None:
        """Keeps the address; the first call connects.

        Args:
          uri: Address of the store, as ``tracking_uri`` gives it.
          root: State root, under which the artifacts of an sqlite store lie.
        """
        self._uri = uri
        self._root = root
        self._prepared = False

    def register(self, name: str, folder: Path, run_id: str, tags: Mapping[str, str], alias: str) -> int:
        """Uploads a folder under a run and returns the number of the new version, which ``alias`` then names.

        The alias ``latest`` follows by itself.

        Args:
          name: Registered model, ``project.model``; created when missing.
          folder: Files of the model.
          run_id: Run that the files belong to.
          tags: Tags of the version.
          alias: Name that moves to this version, such as ``champion``.

        Raises:
          TrackingError: The store cannot be reached or refuses.
        """
        path = f"models/{name}/{uuid.uuid4().hex[:12]}"  # A run may register several versions: a folder each.
        with self._client(f"cannot register {folder} as {name!r} under run {run_id}") as client:
            client.log_artifacts(run_id, str(folder), path)
            client.log_text(run_id, _mlmodel(path, run_id), f"{path}/MLmodel")
            _create_if_missing(client, name)
            source = f"{client.get_run(run_id).info.artifact_uri}/{path}"
            version = str(client.create_model_version(name, source, run_id, tags=dict(tags)).version)
            if alias != LATEST:
                client.set_registered_model_alias(name, alias, version)
            return int(version)

    def download(self, model_uri: str, destination: Path) -> Path:
        """Copies the files of a version below ``destination`` and returns the folder that holds them.

        Args:
          model_uri: ``models:/name@alias`` or ``models:/name/3``.
          destination: Folder to copy into; created when missing.

        Raises:
          TrackingError: The URI is malformed, the version does not exist (the message lists what does), or the store
            cannot be reached.
        """
        with self._client(f"cannot download {model_uri}") as client:
            found = self._found(client, model_uri)
            source = client.get_model_version_download_uri(found.name, str(found.version))
            from mlflow.artifacts import download_artifacts  # noqa: PLC0415

            destination.mkdir(parents=True, exist_ok=True)
            return Path(download_artifacts(source, dst_path=str(destination), tracking_uri=self._uri))

    def exact(self, model_uri: str) -> str:
        """Returns the address of the very version that an alias names at present: ``models:/name/3``.

        Raises:
          TrackingError: As ``download``.
        """
        with self._client(f"cannot look up {model_uri}") as client:
            found = self._found(client, model_uri)
            return f"models:/{found.name}/{found.version}"

    def versions(self, name: str) -> list[RegisteredVersion]:
        """Returns the newest versions of a model, the newest first; none where there is no such model.

        Raises:
          TrackingError: The store cannot be reached.
        """
        with self._client(f"cannot list the versions of {name!r}") as client:
            found = client.search_model_versions(f"name='{name}'", max_results=SHOWN, order_by=["version_number DESC"])
            aliases = client.get_registered_model(name).aliases if found else {}
        return [
            RegisteredVersion(
                int(version.version),
                sorted(alias for alias, number in aliases.items() if str(number) == str(version.version)),
                dict(version.tags),
            )
            for version in found
        ]

    def _found(self, client: "MlflowClient", model_uri: str) -> "ModelVersion":
        match = _MODEL_URI.fullmatch(model_uri)
        if match is None:
            raise TrackingError(f"a model is written models:/name@alias or models:/name/3; got {model_uri!r}")
        name, alias, version = match.group("name", "alias", "version")
        found = _find(client, name, alias, version)
        if found is None:
            raise TrackingError(f"there is no {model_uri} in {shown(self._uri)}; it holds {_contents(client, name)}")
        return found

    @contextmanager
    def _client(self, action: str) -> "Iterator[MlflowClient]":
        known = failures()
        if not self._prepared:
            prepare(self._uri, self._root)
            self._prepared = True
        try:
            yield connect(self._uri)
        except known as error:
            raise TrackingError(f"{action} in {shown(self._uri)}: {error}") from error


def _mlmodel(path: str, run_id: str) -> str:
    from mlflow.version import VERSION  # noqa: PLC0415

    return _MLMODEL.format(path=path, run_id=run_id, mlflow_version=VERSION)


def _create_if_missing(client: "MlflowClient", name: str) -> None:
    from mlflow.exceptions import MlflowException  # noqa: PLC0415

    try:
        client.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise


def _find(client: "MlflowClient", name: str, alias: str | None, version: str | None) -> "ModelVersion | None":
    """Returns the version, or None where there is none; aliases of searched versions are empty in MLflow 3.17."""
    from mlflow.exceptions import MlflowException  # noqa: PLC0415

    try:
        if version is not None:
            return client.get_model_version(name, version)
        return client.get_model_version_by_alias(name, alias or LATEST)
    except MlflowException as error:
        if error.error_code not in {"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"}:
            raise
        return None


def _contents(client: "MlflowClient", name: str) -> str:
    """Returns the versions and aliases of a model, or the names of all models where there is no such model."""
    names = [model.name for model in client.search_registered_models(max_results=SHOWN)]
    versions = client.search_model_versions(f"name='{name}'", max_results=SHOWN, order_by=["version_number DESC"])
    if not versions:
        return f"the models {', '.join(names)}" if names else "no models"
    numbers = ", ".join(str(version.version) for version in versions)
    aliases = ", ".join(sorted([*client.get_registered_model(name).aliases, LATEST]))
    return f"{name} with the versions {numbers} and the aliases {aliases}"
