"""The remote placement: a Serve deployment that answers batches of whole replicas' questions."""

import asyncio
import contextlib
from typing import Any, cast

import numpy as np
import torch
from ray import serve

from app.config.serving import ModelConfig
from app.models.engine import Answer
from app.models.loading import WeightsLoader
from app.models.placement import check_batch
from app.models.question import Leaves
from app.stores.trial import Trial
from app.types import Arrays, Version
from deployments.models import WeightsClock, build_engine, follow

Item = tuple[Leaves, Leaves, Version | None]
"""One caller's observations and states by leaves, each [B, …], and the version that is to answer; None: the newest."""


class ModelReplica:
    """One copy of a model; calls that arrive together become one batch."""

    async def __init__(  # type: ignore[misc]  # Serve awaits it.
        self, config: ModelConfig, name: str, namespace: str, seed: int, first: Arrays | None, home: str
    ) -> None:
        torch.set_num_threads(1)
        weights = Trial(namespace).weights(name)
        device = "cuda" if config.num_gpus and torch.cuda.is_available() else "cpu"
        self._engine = build_engine(config, seed, first, home, device)
        self._engine.keep_for_good()  # No store has the first weights; games that began with them go on with them.
        self._loader = WeightsLoader(self._engine, weights.fetch)
        work = follow(self._loader, weights, WeightsClock())
        self._following = asyncio.get_running_loop().create_task(work)
        batched = cast("Any", self._batched)  # Serve adds the setters.
        batched.set_max_batch_size(config.batching.max_calls)
        batched.set_batch_wait_timeout_s(config.batching.wait_ms / 1000)

    async def forward(self, inputs: Leaves, states: Leaves, version: Version | None) -> Answer:
        """Returns the answer to one caller's batch, given and taken by leaves, each [B, …].

        Raises:
          ValueError: It does not fit the model; no other caller notices.
          ModelMismatchError: The version is no longer kept; nor does one of another version.
          OverloadedError: Too many versions are in play, or on their way.
          AgentError: The version could not be fetched.
        """
        check_batch(self._engine.spec, inputs, states)
        if version is not None:  # Before it joins a batch: one whose weights must be fetched keeps nobody waiting.
            await self._loader.ensure(version)
        try:
            answer = await self._batched((inputs, states, version))
        finally:
            if version is not None:
                self._loader.release(version)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def check_health(self) -> None:
        """Raises where the weights are no longer followed."""
        if self._following.done():
            self._following.result()

    async def __del__(self) -> None:
        """Stops to follow the weights."""
        self._following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._following

    @serve.batch
    async def _batched(self, items: list[Item]) -> list[Answer | Exception]:
        """Returns an answer or an error for each caller; callers of one version are answered by one pass."""
        groups: dict[Version | None, list[int]] = {}
        for at, (*_, version) in enumerate(items):
            groups.setdefault(version, []).append(at)
        outcomes: dict[int, Answer | Exception] = {}
        for version, members in groups.items():
            outcomes.update(self._answer([items[at] for at in members], members, version))
        return [outcomes[at] for at in range(len(items))]

    def _answer(self, parts: list[Item], members: list[int], version: Version | None) -> dict[int, Answer | Exception]:
        """Returns the answers of one version, or the one error that all who asked it are told."""
        try:
            inputs = [np.concatenate(leaves) for leaves in zip(*(part[0] for part in parts), strict=True)]
            states = [np.concatenate(leaves) for leaves in zip(*(part[1] for part in parts), strict=True)]
            whole = self._engine.forward(inputs, states, version)
        except Exception as error:  # noqa: BLE001  # The user's network may raise anything; each caller is told.
            return dict.fromkeys(members, error)
        return dict(zip(members, whole.split([len(part[0][0]) for part in parts]), strict=True))
