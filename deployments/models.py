"""The models of an actor replica: local engines that follow the trainer, handles to remote ones."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

from ray.exceptions import RayError
from ray.serve.handle import DeploymentHandle

from app.config.models import ModelConfig
from app.errors import ModelMismatchError
from app.models.batching import BatchLimits
from app.models.engine import Engine
from app.models.engines import Network
from app.models.loading import WeightsLoader
from app.models.module import build_module, spec_of
from app.models.placement import LocalModel, RemoteModel
from app.models.versions import Bound
from app.stores.weights_client import Weights
from app.types import UNTRAINED, Arrays, Version
from deployments.model_calls import ModelCalls

RETRY_S: Final = 1.0
"""Pause before the weight store is asked again after a failure."""

_log = logging.getLogger(__name__)


class WeightsClock:
    """When the newest weights of one model came, as the weight store tells it, and when this replica took them up."""

    def __init__(self) -> None:
        self._published_s: float | None = None
        self.taken_s: float | None = None
        """Unix seconds; None before the first, and where the model answers elsewhere."""
        self.listeners: list[Callable[[Version], None]] = []
        """Told which version answers from now on."""

    def came(self, published_s: float) -> None:
        """Notes when the newest weights were published, in Unix seconds."""
        self._published_s = published_s

    def took(self, version: Version) -> None:
        """Notes that they answer from now on."""
        self.taken_s = time.time()
        for tell in self.listeners:
            tell(version)

    def age_s(self) -> float | None:
        """Returns the seconds since the newest weights came; None before the first."""
        return None if self._published_s is None else max(0.0, time.time() - self._published_s)


def network_of(config: ModelConfig, seed: int, home: str) -> Network:
    """Returns a model's network.

    Args:
      config: The model.
      seed: Its parameters follow from it.
      home: State root of the project, where graphs are kept.
    """
    bound = Bound(config.weights.cache_versions, config.weights.cache_mb)
    return Network(config.factory, config.kwargs, seed, Path(home), config.engine, bound)


def build_engine(config: ModelConfig, seed: int, first: Arrays | None, home: str, device: str = "cpu") -> Engine:
    """Returns an engine with the model's first weights: those of its checkpoint, or drawn from the seed.

    Args:
      config: The model.
      seed: Its parameters follow from it.
      first: Weights of its checkpoint; None without one.
      home: State root of the project, where graphs are kept.
      device: Where torch is to answer.

    Raises:
      SparringError: The factory is missing, or ONNX Runtime cannot run what it returns.
    """
    engine = network_of(config, seed, home).make_engine(device)
    if first is not None:
        engine.swap(engine.version, engine.build(first))
    return engine


async def follow(loader: WeightsLoader, weights: Weights, clock: WeightsClock) -> None:
    """Takes up new weights for as long as it runs: built beside the loop, exchanged between two batches.

    Weights that do not fit are logged and passed over: what answers goes on to answer.
    """
    seen = UNTRAINED
    while True:
        try:
            newer = await weights.newer(seen)
            if newer is None:
                continue
            seen = newer.version
            clock.came(newer.published_s)
            await loader.take(newer.version, newer.arrays)
            clock.took(newer.version)
        except RayError as error:  # The store's process restarts.
            _log.warning("the weight store does not answer, asking again: %s", error)
            await asyncio.sleep(RETRY_S)
        except ModelMismatchError as error:
            _log.error("weights %s are not taken, older ones answer: %s", seen, error)


async def watch(weights: Weights, clock: WeightsClock) -> None:
    """Notes when weights come of a model that answers elsewhere, for as long as it runs."""
    seen = UNTRAINED
    while True:
        try:
            news = await weights.news(seen)
        except RayError as error:  # As above.
            _log.warning("the weight store does not answer, asking again: %s", error)
            await asyncio.sleep(RETRY_S)
            continue
        if news is not None:
            seen, published_s = news
            clock.came(published_s)


def local_model(
    config: ModelConfig, seed: int, first: Arrays | None, weights: Weights, clock: WeightsClock, home: str
) -> tuple[LocalModel, Coroutine[Any, Any, None]]:
    """Returns a model in this process, and the work that keeps its weights new."""
    model = LocalModel(build_engine(config, seed, first, home), weights.fetch, batch_limits(config))
    return model, follow(model.weights, weights, clock)


def batch_limits(config: ModelConfig) -> BatchLimits:
    """Returns the bounds of a model's batches."""
    batching, sizes = config.batching, config.batching.pad_to or ()
    return BatchLimits(
        max_rows=min([batching.max_rows, *sizes[-1:]]),
        max_waiting_rows=batching.max_waiting_rows,
        wait_s=batching.wait_ms / 1000,
        pad_to=tuple(sizes),
    )


class RemoteReplicas:
    """The other end of a remote model: its Serve replicas, and the store that keeps what its sessions have pinned."""

    def __init__(self, calls: ModelCalls, weights: Weights) -> None:
        self.forward = calls.forward
        self._weights = weights
        self._letting_go: set[asyncio.Task[None]] = set()

    async def ensure(self, version: Version | None) -> Version:
        """Keeps a version where every replica can fetch it, and returns it; None means the newest.

        Raises:
          ModelMismatchError: It is no longer kept.
        """
        kept = await self._weights.keep(version)
        if kept is not None:
            return kept
        if version not in (None, UNTRAINED):
            raise ModelMismatchError(f"weights {version} are no longer kept; pin a version to keep it")
        return UNTRAINED  # Nothing was published yet; each replica keeps its first weights.

    def release(self, version: Version) -> None:
        """Lets a version go that ``ensure`` returned."""
        if version != UNTRAINED:
            task = asyncio.get_running_loop().create_task(self._weights.let_go(version))
            self._letting_go.add(task)
            task.add_done_callback(self._let_go)

    def _let_go(self, task: asyncio.Task[None]) -> None:
        self._letting_go.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("a version of weights stays pinned in the store: %s", error)


def remote_model(
    config: ModelConfig, seed: int, handle: DeploymentHandle[Any], weights: Weights, secret: str, counts: Counter[str]
) -> tuple[RemoteModel, list[Coroutine[Any, Any, None]]]:
    """Returns a model in replicas of its own, and the work that keeps the connections to them."""
    spec = spec_of(build_module(config.factory, config.kwargs, seed))
    calls = ModelCalls(handle, spec, secret, counts, direct=config.channel == "direct")
    return RemoteModel(spec, RemoteReplicas(calls, weights), batch_limits(config)), calls.work()
