"""What service and trainer ask of the weight store, for one model."""

from typing import Any, NamedTuple, cast

import ray

from app.errors import ModelMismatchError
from app.stores.host import StoreHandle
from app.stores.weight_shelf import KeptVersion, Newer
from app.types import Arrays, Version


def newest_versions(handle: StoreHandle, timeout_s: float) -> dict[str, Version | None]:
    """Returns the newest version of each model of a weight store; None where nothing was published.

    Raises:
      ray.exceptions.RayError: The store does not answer in time.
    """
    return cast("dict[str, Version | None]", handle.get("versions", timeout_s=timeout_s))


def ages_s(handle: StoreHandle, timeout_s: float) -> dict[str, float | None]:
    """Returns the seconds since the newest weights of each model of a weight store came; None where there are none.

    Raises:
      ray.exceptions.RayError: The store does not answer in time.
    """
    return cast("dict[str, float | None]", handle.get("ages_s", timeout_s=timeout_s))


class NewWeights(NamedTuple):
    """Weights that came after others."""

    version: Version
    published_s: float
    """Unix seconds at which they came."""
    arrays: Arrays
    """Read-only views of the node's object store."""


class Catalog:
    """All that a weight store keeps, for who only looks."""

    def __init__(self, handle: StoreHandle) -> None:
        self._handle = handle

    async def kept(self) -> dict[str, list[KeptVersion]]:
        """Returns what is kept of each model, the newest last."""
        return cast("dict[str, list[KeptVersion]]", await self._handle.call("kept"))

    async def find(self, model: str, version: Version | None) -> KeptVersion | None:
        """Returns what is kept of one version, None the newest; None where it is not kept, or the model unknown."""
        return cast("KeptVersion | None", await self._handle.call("find", model, version))

    async def arrays(self, model: str, version: Version) -> Arrays:
        """Returns the weights of a version, as read-only views of the node's object store.

        Raises:
          ModelMismatchError: They are no longer kept.
        """
        return await _only(await self._handle.call("fetch", model, version), version)


class Weights:
    """One model's side of the weight store."""

    def __init__(self, handle: StoreHandle, model: str) -> None:
        self._handle = handle
        self._model = model

    def register(self, spec_hash: str, *, fixed: bool = False) -> None:
        """Declares the model; ``fixed``: it plays the weights that its config names, whatever was published before."""
        self._handle.get("register", self._model, spec_hash, fixed)

    def begin(self, spec_hash: str, after: int = 0) -> int:
        """Returns the generation of a trainer that starts: larger than those of earlier ones, and than ``after``.

        Raises:
          ModelMismatchError: The service plays a model of other shapes, or none of that name.
        """
        return int(self._handle.get("begin", self._model, spec_hash, after))

    def publish(self, version: Version, arrays: Arrays, parent: Version | None = None) -> "ray.ObjectRef[Any]":
        """Sends new weights; wait for the reference before the next publish.

        Args:
          version: Theirs.
          arrays: The weights.
          parent: Version that they were learned from; None where that is not known.
        """
        return self._handle.call("publish", self._model, version, arrays, parent)

    def newest(self) -> Version | None:
        """Returns the newest version; None where nothing was published."""
        return cast("Version | None", self._handle.get("newest", self._model))

    def pin(self) -> Version | None:
        """Returns the newest version and keeps it; None where nothing was published."""
        return cast("Version | None", self._handle.get("pin", self._model, None))

    def unpin(self, version: Version) -> None:
        """Lets a pinned version go."""
        self._handle.get("unpin", self._model, version)

    def load(self, version: Version) -> Arrays:
        """Returns the weights of a version; for code without an event loop.

        Raises:
          ModelMismatchError: They are no longer kept.
        """
        return ray.get(_only(self._handle.get("fetch", self._model, version), version), timeout=60)

    async def keep(self, version: Version | None) -> Version | None:
        """Keeps a version, None the newest, until ``let_go``, and returns it; None where there is no such version."""
        return cast("Version | None", await self._handle.call("pin", self._model, version))

    async def let_go(self, version: Version) -> None:
        """Takes one ``keep`` back."""
        await self._handle.call("unpin", self._model, version)

    async def fetch(self, version: Version) -> Arrays:
        """Returns the weights of a version.

        Raises:
          ModelMismatchError: They are no longer kept.
        """
        return await _only(await self._handle.call("fetch", self._model, version), version)

    async def newer(self, than: Version) -> NewWeights | None:
        """Returns the newest version as soon as it is not ``than``; None after a while."""
        found = cast("Newer | None", await self._handle.call("newer", self._model, than))
        return None if found is None else NewWeights(found.version, found.published_s, await found.refs[0])

    async def news(self, than: Version) -> tuple[Version, float] | None:
        """Returns the newest version, without its weights, and when it came, as soon as it is not ``than``."""
        found = cast("Newer | None", await self._handle.call("newer", self._model, than))
        return None if found is None else (found.version, found.published_s)


def _only(refs: "list[ray.ObjectRef[Arrays]]", version: Version) -> "ray.ObjectRef[Arrays]":
    if not refs:
        raise ModelMismatchError(f"weights {version} are no longer kept; pin a version to keep it")
    return refs[0]
