"""Follows the registry for a service, and decides once for all replicas what they play."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from app.errors import ReleaseError
from app.metrics.registry import Registry as Measures
from app.models.shadow import Sample
from app.releases.plan import Standing
from app.stores.followed_model import FollowedModel, ReleaseSource
from app.stores.release_registry import Registry, ReleaseRegistry
from app.stores.release_state import Growth
from app.types import Arrays, Version

if TYPE_CHECKING:
    import ray


def registry_of(source: ReleaseSource) -> Registry:
    """Returns MLflow's registry of a model."""
    return ReleaseRegistry(source.uri, source.root, source.registered)


class ReleaseStore:
    """Loads and checks what the registry names, hands it to the replicas, and judges it by what they report."""

    def __init__(
        self, models: dict[str, ReleaseSource], registry: Callable[[ReleaseSource], Registry] = registry_of
    ) -> None:
        self._first = models
        self._registry = registry
        self._models: dict[str, FollowedModel] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self) -> None:
        """Begins to follow the registry."""
        await self.configure(self._first)

    async def configure(self, models: dict[str, ReleaseSource]) -> None:
        """Follows these models from now on; those whose config is the same go on undisturbed."""
        for name in self._models.keys() | models.keys():
            source = models.get(name)
            if name in self._models:
                if self._models[name].source == source:
                    continue
                self._tasks.pop(name).cancel()
                self._models.pop(name).close()
            if source is not None:
                model = self._models[name] = FollowedModel(source, self._registry(source))
                self._tasks[name] = asyncio.create_task(model.run(name))

    async def standing_after(self, model: str, known: Standing) -> Standing | None:
        """Returns how the model stands as soon as that is not known; None after a while."""
        return await self._of(model).standing_after(known)

    async def fetch(self, model: str, version: Version) -> "list[ray.ObjectRef[Arrays]]":
        """Returns the weights of a version as the only item of a list; an empty list where there is none."""
        return await self._of(model).fetch(version)

    async def report(self, model: str, growth: Growth) -> None:
        """Takes what a replica's sessions did since its last report."""
        followed = self._of(model)
        followed.state.add(growth)
        await followed.judge(model)

    async def refuse(self, model: str, version: Version, reason: str) -> None:
        """Takes note that a replica cannot play a version."""
        await self._of(model).refuse(model, version.number, reason)

    async def shadow(self, model: str, version: Version, samples: Sequence[Sample]) -> None:
        """Asks the shadow about what a replica's sessions were told."""
        followed = self._of(model)
        await followed.compare(version, samples)
        await followed.judge(model)

    async def status(self) -> dict[str, dict[str, Any]]:
        """Returns what an operator is shown, by model."""
        return {name: model.state.as_dict() for name, model in self._models.items()}

    async def promote(self, model: str, number: int | None) -> dict[str, Any]:
        """Makes the challenger, or the version of a number, the champion; returns the model's status.

        Raises:
          ReleaseError: There is no challenger, or it may not be promoted.
          TrackingError: The registry does not answer.
        """
        followed = self._of(model)
        await followed.promote(model, number)
        return followed.state.as_dict()

    async def roll_back(self, model: str) -> dict[str, Any]:
        """Makes the version before the champion; returns the model's status.

        Raises:
          ReleaseError: None is known.
          TrackingError: The registry does not answer.
        """
        followed = self._of(model)
        await followed.go_back(model)
        return followed.state.as_dict()

    def take_stock(self, registry: Measures, process: str) -> None:
        """Takes down how shadows compare; see ``Measured``."""
        for name, model in self._models.items():
            model.state.measure(registry, name)

    def _of(self, model: str) -> FollowedModel:
        if model not in self._models:
            known = ", ".join(sorted(self._models)) or "none"
            raise ReleaseError(f"model {model!r} follows no registry; those with a release are: {known}")
        return self._models[model]
