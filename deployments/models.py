"""The models of an actor replica: local engines that follow the trainer, handles to remote ones."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from ray.serve.handle import DeploymentHandle

from app.config.serving import ModelConfig
from app.models.engine import Answer, TorchEngine
from app.models.module import build_module
from app.models.placement import LocalModel, RemoteModel
from app.models.queue import Model
from app.stores.weights_client import Weights
from app.types import Arrays, Version

RETRY_S = 1.0
"""Pause before the weight store is asked again after a failure."""

_log = logging.getLogger(__name__)


def build_engine(config: ModelConfig, seed: int, first: Arrays | None, device: str = "cpu") -> TorchEngine:
    """Returns an engine with the model's first weights: those of its checkpoint, or drawn from the seed."""
    engine = TorchEngine(build_module(config.factory, config.kwargs, seed), device)
    if first is not None:
        engine.load(engine.version, first)
    return engine


async def follow(engine: TorchEngine, weights: Weights) -> None:
    """Takes up new weights for as long as it runs; between two batches, since both run on one event loop."""
    while True:
        try:
            newer = await weights.newer(engine.version)
        except Exception as error:  # noqa: BLE001  # Ray raises many kinds when an actor restarts; all pass.
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


def remote_model(config: ModelConfig, seed: int, handle: DeploymentHandle[Any]) -> Model:
    """Returns a model in replicas of its own."""
    spec = build_engine(config, seed, None).spec

    async def forward(observations: NDArray[np.generic], version: Version | None) -> Answer:
        return cast("Answer", await handle.forward.remote(observations, version))

    async def ensure(version: Version | None) -> Version:
        return cast("Version", await handle.ensure.remote(version))

    return RemoteModel(spec, forward, ensure)
