"""The two places where a model answers; agents see one interface."""

from collections.abc import Awaitable, Callable

from app.models.engine import TorchEngine
from app.models.queue import AsyncForward, Decision, LocalQueue, Question, RemoteQueue
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
        """
        return self.queue.decide(question)

    async def ensure(self, version: Version | None) -> Version:
        """Holds a version until it is released, fetching its weights where needed; None holds the newest weights."""
        held = await pin(self.engine, version, self._fetch)
        self.engine.hold(held)
        return held

    def release(self, version: Version) -> None:
        """Lets a version go that ``ensure`` returned."""
        self.engine.release(version)


class RemoteModel:
    """A network in another process, asked once for all sessions that wait."""

    def __init__(
        self, spec: ModelSpec, forward: AsyncForward, ensure: Callable[[Version | None], Awaitable[Version]]
    ) -> None:
        self.spec = spec
        self.queue = RemoteQueue(forward, MAX_WAITING, REMOTE_TIMEOUT_S)
        self._ensure = ensure

    def decide(self, question: Question) -> Awaitable[Decision]:
        """Returns the decision to come.

        Raises:
          OverloadedError: Too many questions wait already.
        """
        return self.queue.decide(question)

    async def ensure(self, version: Version | None) -> Version:
        """Pins a version in the other process and returns it; None pins the newest weights."""
        return await self._ensure(version)

    def release(self, version: Version) -> None:
        """Does nothing: the other process keeps the versions that were asked for last."""


async def pin(engine: TorchEngine, version: Version | None, fetch: FetchWeights) -> Version:
    """Pins a version in the engine and returns it; weights that the engine lacks are fetched."""
    wanted = engine.version if version is None else version
    if not engine.has(wanted):
        engine.pin(wanted, None if wanted == engine.version else await fetch(wanted))
    return wanted
