"""The remote placement: a Serve deployment that answers batches of whole replicas' questions."""

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any, cast

import torch
from ray import serve

from app.config.logs import LogsConfig
from app.config.models import ModelConfig
from app.logs.secrets import SECRETS
from app.logs.tasks import told
from app.metrics.here import PROCESS
from app.models.engine import Answer
from app.models.loading import WeightsLoader
from app.models.placement import check_batch
from app.models.question import Leaves
from app.models.times import ModelTimes
from app.models.waiting import ALWAYS, Within
from app.stores.error_forwarder import watch_errors
from app.stores.telling import tell_for_ever
from app.stores.trial import Trial
from app.types import Arrays, Version
from deployments.answering import Answering
from deployments.heap import freeze_heap
from deployments.model_channels import Endpoint
from deployments.model_port import listening_host, open_model_port
from deployments.models import WeightsClock, batch_limits, build_engine, follow

Item = tuple[Leaves, Leaves, Version | None, Within]
"""One caller's observations and states by leaves, each [B, …], the version that is to answer (None: the newest), and
when the answer is wanted, in seconds from now."""


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """What a model replica knows of the service that it answers."""

    home: str
    """State root."""
    secret: str
    """Cluster secret, which whoever connects must know."""
    local: bool
    """Whether all game ports are on loopback addresses, so that this one is as well."""
    logs: LogsConfig
    """How its process logs."""
    latencies: bool
    """Whether its batches are timed."""


class ModelReplica:
    """One copy of a model; calls that arrive together become one batch, whichever way they come."""

    async def __init__(  # type: ignore[misc]  # Serve awaits it.
        self, config: ModelConfig, name: str, namespace: str, seed: int, first: Arrays | None, place: ModelPlace
    ) -> None:
        torch.set_num_threads(1)
        unique = serve.get_replica_context().replica_id.unique_id
        watch_errors(namespace, f"model {name} {unique}", place.logs)
        SECRETS.hide(place.secret)
        weights = Trial(namespace).weights(name)
        device = "cuda" if config.num_gpus and torch.cuda.is_available() else "cpu"
        self._engine = build_engine(config, seed, first, place.home, device)
        self._engine.keep_for_good()  # No store has the first weights; games that began with them go on with them.
        loader = WeightsLoader(self._engine, weights.fetch)
        limits = batch_limits(config)
        self._answering = Answering(self._engine, loader, limits)
        self._following = told(asyncio.get_running_loop().create_task(follow(loader, weights, WeightsClock())))
        if place.latencies:
            self._answering.queue.times = ModelTimes(PROCESS, name, "replica")
        self._telling = told(asyncio.get_running_loop().create_task(tell_for_ever(namespace, name, ())))
        freeze_heap()
        self._host = listening_host(local=place.local)
        self._port = (
            await open_model_port(self._answering, self._host, place.secret) if config.channel == "direct" else None
        )
        batched = cast("Any", self._batched)  # Serve adds the setters.
        batched.set_max_batch_size(limits.max_rows)
        batched.set_batch_wait_timeout_s(limits.wait_s)

    async def forward(self, inputs: Leaves, states: Leaves, version: Version | None, within: Within = ALWAYS) -> Answer:
        """Returns the answer to one caller's batch, given and taken by leaves, each [B, …].

        Raises:
          AgentError: The version could not be fetched.
          DeadlineExceededError: Its time was up before the model could be asked.
          ModelMismatchError: The version is no longer kept; no other caller notices.
          OverloadedError: Too many wait already.
          ValueError: It does not fit the model.
        """
        check_batch(self._engine.spec, inputs, states)
        async with self._answering.held(version):  # Its weights are fetched before it enters the batch.
            answer = await self._batched((inputs, states, version, within))
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def endpoint(self) -> Endpoint | None:
        """Returns where it listens; None where the config wants no connections."""
        if self._port is None:
            return None
        return Endpoint(str(serve.get_replica_context().replica_id.unique_id), self._host, self._port.port)

    async def check_health(self) -> None:
        """Raises where the weights are no longer followed."""
        if self._following.done():
            self._following.result()

    async def __del__(self) -> None:
        """Answers what is under way and stops to follow the weights."""
        if self._port is not None:
            await self._port.close()
        for task in (self._following, self._telling):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    @serve.batch
    async def _batched(self, items: list[Item]) -> list[Answer | Exception]:
        """Returns an answer or an error for each caller."""
        outcomes = [self._asked(item) for item in items]
        self._answering.queue.hurry()  # They have waited for a fuller batch.
        answers = await asyncio.gather(*outcomes, return_exceptions=True)
        return [_told(answer) for answer in answers]

    def _asked(self, item: Item) -> asyncio.Future[Answer]:
        try:
            return self._answering.ask(*item)
        except Exception as error:  # noqa: BLE001  # Each caller is told what became of its own.
            failed: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            failed.set_exception(error)
            return failed


def _told(answer: Answer | BaseException) -> Answer | Exception:
    if isinstance(answer, BaseException) and not isinstance(answer, Exception):
        raise answer
    return answer
