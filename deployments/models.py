"""The models of an actor replica: local engines that follow the trainer, handles to remote ones."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, cast

from ray.exceptions import RayError
from ray.serve.handle import DeploymentHandle

from app.config.serving import ModelConfig
from app.errors import ModelMismatchError
from app.models.engine import Answer, Engine
from app.models.model import Model
from app.models.module import build_module
from app.models.placement import LocalModel, RemoteModel
from app.models.question import Leaves
from app.models.torch_engine import TorchEngine
from app.stores.weights_client import Weights
from app.types import UNTRAINED, Arrays, Version

RETRY_S = 1.0
"""Pause before the weight store is asked again after a failure."""

_log = logging.getLogger(__name__)


def build_engine(config: ModelConfig, seed: int, first: Arrays | None, device: str = "cpu") -> TorchEngine:
    """Returns an engine with the model's first weights: those of its checkpoint, or drawn from the seed."""
    engine = TorchEngine(build_module(config.factory, config.kwargs, seed), device)
    if first is not None:
        engine.load(engine.version, first)
    return engine


async def follow(engine: Engine, weights: Weights) -> None:
    """Takes up new weights for as long as it runs; between two batches, since both run on one event loop."""
    while True:
        try:
            newer = await weights.newer(engine.version)
        except RayError as error:  # The store's process restarts.
            _log.warning("the weight store does not answer, asking again: %s", error)
            await asyncio.sleep(RETRY_S)
            continue
        if newer is not None:
            engine.load(*newer)


def local_model(
    config: ModelConfig, seed: int, first: Arrays | None, weights: Weights
) -> tuple[Model, Coroutine[Any, Any, None]]:
    """Returns a model in this process, and the work that keeps its weights new."""
    engine = build_engine(config, seed, first)
    return LocalModel(engine, weights.fetch), follow(engine, weights)


class RemoteReplicas:
    """The other end of a remote model: its Serve replicas, and the store that keeps what its sessions have pinned."""

    def __init__(self, handle: DeploymentHandle[Any], weights: Weights) -> None:
        self._handle = handle
        self._weights = weights
        self._letting_go: set[asyncio.Task[None]] = set()

    async def forward(self, inputs: Leaves, states: Leaves, version: Version | None) -> Answer:
        """Returns the answer to a batch, given and taken by leaves."""
        return cast("Answer", await self._handle.forward.remote(inputs, states, version))

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
            task.add_done_callback(self._letting_go.discard)


def remote_model(config: ModelConfig, seed: int, handle: DeploymentHandle[Any], weights: Weights) -> Model:
    """Returns a model in replicas of its own."""
    return RemoteModel(build_engine(config, seed, None).spec, RemoteReplicas(handle, weights))
