"""What replicas and operators ask of the release store."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import ray
from ray.exceptions import RayTaskError

from app.errors import ModelMismatchError, ReleaseError, SparringError
from app.models.shadow import Sample
from app.releases.plan import Standing
from app.stores.host import StoreHandle
from app.stores.release_state import Growth
from app.types import Arrays, Version

if TYPE_CHECKING:
    from ray import ObjectRef

MOVE_S: Final = 120.0
"""Longest wait for an operator's move: MLflow is asked, and a version may have to be loaded."""


class Releases:
    """One model's side of the release store."""

    def __init__(self, handle: StoreHandle, model: str) -> None:
        self._handle = handle
        self._model = model

    async def standing_after(self, known: Standing) -> Standing | None:
        """Returns how the model stands as soon as that is not known; None after a while."""
        return cast("Standing | None", await self._handle.call("standing_after", self._model, known))

    async def fetch(self, version: Version) -> Arrays:
        """Returns the weights of a version.

        Raises:
          ModelMismatchError: The registry has no such version, or it is broken.
        """
        refs = await self._handle.call("fetch", self._model, version)
        if not refs:
            raise ModelMismatchError(f"version {version} of model {self._model!r} cannot be had from the registry")
        return cast("Arrays", await refs[0])

    async def report(self, growth: Growth) -> None:
        """Sends what sessions did since the last report."""
        await self._handle.call("report", self._model, growth)

    async def refuse(self, version: Version, reason: str) -> None:
        """Tells that a version cannot be played here."""
        await self._handle.call("refuse", self._model, version, reason)

    def shadow(self, version: Version, samples: Sequence[Sample]) -> "ObjectRef[Any]":
        """Sends samples to a shadow; the reference is there once it has answered. May be called in any thread."""
        return self._handle.call("shadow", self._model, version, samples)


class Operator:
    """What an operator asks of the release store."""

    def __init__(self, handle: StoreHandle) -> None:
        self._handle = handle

    def status(self, timeout_s: float = 30.0) -> dict[str, dict[str, Any]]:
        """Returns the releases of each model.

        Raises:
          ray.exceptions.RayError: The store does not answer in time.
        """
        return cast("dict[str, dict[str, Any]]", self._handle.get("status", timeout_s=timeout_s))

    def promote(self, model: str, number: int | None) -> dict[str, Any]:
        """Makes the challenger, or the version of a number, the champion; returns the model's status.

        Raises:
          SparringError: There is none, it may not be promoted, or the registry does not answer.
        """
        return self._moved("promote", model, number)

    def roll_back(self, model: str) -> dict[str, Any]:
        """Makes the version before the champion; returns the model's status.

        Raises:
          SparringError: None is known, or the registry does not answer.
        """
        return self._moved("roll_back", model)

    def _moved(self, method: str, *args: Any) -> dict[str, Any]:
        try:
            return cast("dict[str, Any]", self._handle.get(method, *args, timeout_s=MOVE_S))
        except RayTaskError as error:
            if isinstance(error.cause, SparringError):
                raise error.cause from error
            raise
        except ray.exceptions.GetTimeoutError as error:
            raise ReleaseError(f"the release store does not answer within {MOVE_S:g} s") from error
