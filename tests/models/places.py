"""Every place where a model may answer, in this process."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, cast

from torch import nn

from app.errors import ModelMismatchError
from app.models.batching import BatchLimits
from app.models.engine import Answer, Engine
from app.models.loading import WeightsLoader
from app.models.model import Model
from app.models.module import to_arrays
from app.models.placement import LocalModel, RemoteModel
from app.models.question import Leaves
from app.models.spec import ModelSpec
from app.models.waiting import Within
from app.types import Arrays, Version
from deployments.answering import Answering
from deployments.models import RemoteReplicas
from tests.deployments.model_service import channels, replica

if TYPE_CHECKING:
    from app.stores.weights_client import Weights
    from deployments.model_calls import ModelCalls


class Store:
    """Keeps the weights of generation 1: number n is seed n."""

    def __init__(self, make: Callable[[int], nn.Module]) -> None:
        self._make = make

    async def fetch(self, version: Version) -> Arrays:
        if version.generation != 1:
            raise ModelMismatchError(f"weights {version} are no longer kept")
        return to_arrays(self._make(version.number))

    async def keep(self, version: Version | None) -> Version | None:
        return version

    async def let_go(self, version: Version) -> None:
        return None


Place = Callable[[Engine, Store, BatchLimits], AbstractAsyncContextManager[Model]]


@asynccontextmanager
async def local(engine: Engine, store: Store, limits: BatchLimits) -> AsyncIterator[Model]:
    yield LocalModel(engine, store.fetch, limits)


@asynccontextmanager
async def by_call(engine: Engine, store: Store, limits: BatchLimits) -> AsyncIterator[Model]:
    """What a remote replica does with a call, without what lies between."""
    answering = Answering(engine, WeightsLoader(engine, store.fetch), limits)

    class Calls:
        async def forward(self, inputs: Leaves, states: Leaves, version: Version | None, within: Within) -> Answer:
            return await answering.ask(inputs, states, version, within)

    yield _remote(engine.spec, Calls(), store, limits)


@asynccontextmanager
async def by_channel(engine: Engine, store: Store, limits: BatchLimits) -> AsyncIterator[Model]:
    async with replica(engine, limits, fetch=store.fetch) as one, channels(one) as asked:
        yield _remote(engine.spec, asked, store, limits)


PLACES: dict[str, Place] = {"local": local, "remote": by_call, "remote, direct": by_channel}


def _remote(spec: ModelSpec, calls: object, store: Store, limits: BatchLimits) -> Model:
    replicas = RemoteReplicas(cast("ModelCalls", calls), cast("Weights", store))
    return RemoteModel(spec, replicas, limits)
