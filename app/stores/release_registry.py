"""The registered model that a service follows: what its aliases name, its files, and moving the champion."""

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from app.errors import ReleaseError, TrackingError
from app.models.saved import SavedModel, read_model
from app.releases.plan import Named
from app.stores.mlflow_connection import connect, failures, prepare, shown
from app.stores.mlflow_store import ModelRegistry

if TYPE_CHECKING:
    from collections.abc import Callable

    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

ROLLED_BACK: Final = "rolled_back"
"""Tag of a version that was tried and taken back; its value is the reason."""
PREVIOUS: Final = "previous_champion"
"""Tag of the registered model: version that was champion before the present one."""
MISSING: Final = {"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"}
"""MLflow's words for a version or an alias that is not there."""

_URI: Final = re.compile(r"models:/(?P<name>[^/@:'\"]+)(?:@(?P<alias>[\w-]+)|/(?P<number>\d+))")
_T = TypeVar("_T")


def parts_of(model_uri: str) -> tuple[str, str]:
    """Returns the registered model and the alias or number that a model URI names.

    Raises:
      TrackingError: It is none.
    """
    match = _URI.fullmatch(model_uri)
    if match is None:
        raise TrackingError(f"a model is written models:/name@alias or models:/name/3; got {model_uri!r}")
    return match["name"], match["alias"] or match["number"]


class Registry(Protocol):
    """Where released versions of one model come from; every method blocks."""

    def find(self, reference: str) -> Named | None:
        """Returns what an alias or a number names; None where it names nothing.

        Raises:
          TrackingError: The registry does not answer.
        """

    def load(self, number: int) -> SavedModel:
        """Returns a version.

        Raises:
          TrackingError: The registry does not answer, or has no such version.
          CheckpointError: It is damaged.
        """

    def mark(self, number: int, reason: str) -> None:
        """Tags a version as rolled back.

        Raises:
          TrackingError: The registry does not answer.
        """

    def promote(self, alias: str, number: int, emptied: str | None) -> None:
        """Makes a version the one that an alias names, and keeps the one before in a tag.

        Raises:
          TrackingError: The registry does not answer.
        """

    def go_back(self, alias: str, reason: str) -> tuple[int, int]:
        """Lets an alias name the version before, and returns the version that it named and the one that it names now.

        Raises:
          ReleaseError: None is known.
          TrackingError: The registry does not answer.
        """


class ReleaseRegistry:
    """The registry of MLflow, for one registered model."""

    def __init__(self, uri: str, root: Path, name: str) -> None:
        """Keeps the address; the first call connects.

        Args:
          uri: Address of the store, as ``tracking_uri`` gives it.
          root: State root, under which the artifacts of an sqlite store lie.
          name: Registered model, ``project.model``.
        """
        self._uri = uri
        self._root = root
        self._name = name
        self._files = ModelRegistry(uri, root)
        self._prepared = False

    def find(self, reference: str) -> Named | None:
        """Returns what an alias or a number names; None where it names nothing."""
        found = self._ask(f"find {reference}", lambda client: _version(client, self._name, reference))
        return None if found is None else Named(int(found.version), dict(found.tags).get(ROLLED_BACK))

    def load(self, number: int) -> SavedModel:
        """Returns a version."""
        with tempfile.TemporaryDirectory() as folder:
            return read_model(self._files.download(f"models:/{self._name}/{number}", Path(folder)))

    def mark(self, number: int, reason: str) -> None:
        """Tags a version as rolled back."""
        self._ask(
            f"tag version {number}",
            lambda client: client.set_model_version_tag(self._name, str(number), ROLLED_BACK, reason),
        )

    def promote(self, alias: str, number: int, emptied: str | None) -> None:
        """Makes a version the one that an alias names, and keeps the one before in a tag.

        Args:
          alias: What moves.
          number: Where to.
          emptied: Alias that the version had until now and loses; None leaves all others.
        """

        def move(client: "MlflowClient") -> None:
            before = _version(client, self._name, alias)
            if before is not None and int(before.version) != number:
                client.set_registered_model_tag(self._name, PREVIOUS, str(before.version))
            client.set_registered_model_alias(self._name, alias, str(number))
            if emptied is not None:
                client.delete_registered_model_alias(self._name, emptied)

        self._ask(f"promote version {number}", move)

    def go_back(self, alias: str, reason: str) -> tuple[int, int]:
        """Lets an alias name the version before; that tag is then gone, so that a second call finds none."""

        def move(client: "MlflowClient") -> tuple[int, int]:
            previous = dict(client.get_registered_model(self._name).tags).get(PREVIOUS)
            present = _version(client, self._name, alias)
            if previous is None or present is None:
                raise ReleaseError(
                    f"{self._name} has no tag {PREVIOUS}: nothing was promoted since the last roll-back; "
                    f"name a version by hand, by moving the alias {alias} in MLflow"
                )
            client.set_registered_model_alias(self._name, alias, previous)
            client.delete_registered_model_tag(self._name, PREVIOUS)
            client.set_model_version_tag(self._name, str(present.version), ROLLED_BACK, reason)
            return int(present.version), int(previous)

        return self._ask("roll back", move)

    def _ask(self, action: str, ask: "Callable[[MlflowClient], _T]") -> _T:
        known = failures()
        if not self._prepared:
            prepare(self._uri, self._root)
            self._prepared = True
        try:
            return ask(connect(self._uri))
        except known as error:
            raise TrackingError(f"cannot {action} of {self._name} in {shown(self._uri)}: {error}") from error


def _version(client: "MlflowClient", name: str, reference: str) -> "ModelVersion | None":
    """Returns the version that an alias or a number names; None where there is none."""
    from mlflow.exceptions import MlflowException  # noqa: PLC0415

    try:
        if reference.isdecimal():
            return client.get_model_version(name, reference)
        return client.get_model_version(name, str(client.get_model_version_by_alias(name, reference).version))
    except MlflowException as error:
        if error.error_code not in MISSING:
            raise
        return None
