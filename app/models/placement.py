"""The two places where a model answers; agents see one interface."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.models.engine import Answer, TorchEngine
from app.models.queue import Decision, LocalQueue, Question, RemoteQueue
from app.models.spec import ModelSpec
from app.types import Arrays, Version

MAX_WAITING = 20_000
"""Observations that may wait for one model in one replica: more than the sessions it may hold."""
REMOTE_TIMEOUT_S = 10.0
"""Longest call to a remote model; a tick's own deadline is usually shorter."""

FetchWeights = Callable[[Version], Awaitable[Arrays]]
"""Brings the weights of a version from the weight store."""


class LocalModel:
    """A network in this process, micro-batched over its sessions."""

    def __init__(self, engine: TorchEngine, fetch: FetchWeights) -> None:
        self.engine = engine
        self.spec = engine.spec
        self.queue = LocalQueue(engine.forward, MAX_WAITING)
        self._fetch = fetch

    def decide(self, question: Question) -> Awaitable[Decision]:
        """Returns the decision to come.

        Raises:
          OverloadedError: Too many questions wait already.
          ValueError: The question does not fit the model.
        """
        check(question, self.spec)
        return self.queue.decide(question)

    async def ensure(self, version: Version | None) -> Version:
        """Holds a version until it is released, fetching its weights where needed; None holds the newest weights."""
        held = await pin(self.engine, version, self._fetch)
        self.engine.hold(held)
        return held

    def release(self, version: Version) -> None:
        """Lets a version go that ``ensure`` returned."""
        self.engine.release(version)


class Remote(Protocol):
    """The other end of a remote model."""

    async def forward(self, observations: NDArray[np.generic], version: Version | None) -> Answer:
        """Returns the answer to observations [B, …]."""

    async def ensure(self, version: Version | None) -> Version:
        """Keeps a version answerable until it is released, and returns it; None means the newest."""

    def release(self, version: Version) -> None:
        """Lets a version go that ``ensure`` returned."""


class RemoteModel:
    """A network in another process, asked once for all sessions that wait."""

    def __init__(self, spec: ModelSpec, remote: Remote) -> None:
        self.spec = spec
        self.queue = RemoteQueue(remote.forward, MAX_WAITING, REMOTE_TIMEOUT_S)
        self._remote = remote

    def decide(self, question: Question) -> Awaitable[Decision]:
        """Returns the decision to come.

        Raises:
          OverloadedError: Too many questions wait already.
          ValueError: The question does not fit the model.
        """
        check(question, self.spec)
        return self.queue.decide(question)

    async def ensure(self, version: Version | None) -> Version:
        """Holds a version until it is released and returns it; None holds the newest weights."""
        return await self._remote.ensure(version)

    def release(self, version: Version) -> None:
        """Lets a version go that ``ensure`` returned."""
        self._remote.release(version)


def check(question: Question, spec: ModelSpec) -> None:
    """Does nothing where the question fits the model; any other would spoil the batch that it joins.

    Raises:
      ValueError: It does not fit.
    """
    observation, mask = question.observation, question.mask
    if observation.shape != spec.observation_shape or observation.dtype != spec.observation_dtype:
        raise ValueError(
            f"the observation is {observation.dtype} {observation.shape}; "
            f"the model takes {spec.observation_dtype} {spec.observation_shape}"
        )
    if mask is not None and (mask.shape != (spec.actions,) or mask.dtype != bool or not mask.any()):
        raise ValueError(f"the mask is {mask}; the model takes {spec.actions} booleans, at least one true")


async def pin(engine: TorchEngine, version: Version | None, fetch: FetchWeights) -> Version:
    """Pins a version in the engine and returns it; weights that the engine lacks are fetched."""
    wanted = engine.version if version is None else version
    if not engine.has(wanted):
        engine.pin(wanted, None if wanted == engine.version else await fetch(wanted))
    return wanted
