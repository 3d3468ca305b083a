"""Model replicas in this process, over real sockets."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.models.batching import DEFAULT_LIMITS, BatchLimits
from app.models.engine import Engine
from app.models.loading import FetchWeights, WeightsLoader
from app.types import Arrays, Version
from deployments.answering import Answering
from deployments.game_port import ListeningPort
from deployments.model_channels import Endpoint, ModelChannels
from deployments.model_port import LOOPBACK, open_model_port

SECRET = "the cluster's"  # noqa: S105


async def nothing_kept(version: Version) -> Arrays:
    raise KeyError(version)


class Replica:
    """A model replica: its port and what answers behind it."""

    def __init__(self, answering: Answering, port: ListeningPort, name: str) -> None:
        self.answering = answering
        self.port = port
        self.endpoint = Endpoint(name, LOOPBACK, port.port)

    @property
    def batches(self) -> int:
        return self.answering.queue.batches

    def die(self) -> None:
        """Ends as a killed process does: nobody listens, and every connection is cut."""
        self.port._listener.close()
        for connection in list(self.port._connections.open):
            assert connection._transport is not None
            connection._transport.abort()


@asynccontextmanager
async def replica(
    engine: Engine, limits: BatchLimits = DEFAULT_LIMITS, name: str = "one", fetch: FetchWeights = nothing_kept
) -> AsyncIterator[Replica]:
    answering = Answering(engine, WeightsLoader(engine, fetch), limits)
    port = await open_model_port(answering, LOOPBACK, SECRET)
    try:
        yield Replica(answering, port, name)
    finally:
        await port.close()


@asynccontextmanager
async def channels(*replicas: Replica, secret: str = SECRET) -> AsyncIterator[ModelChannels]:
    """Returns connections to all of the replicas."""

    async def find() -> list[Endpoint]:
        return [one.endpoint for one in replicas]

    made = ModelChannels(find, replicas[0].answering.spec, secret, Counter())
    await made.look()
    try:
        yield made
    finally:
        await made.close()
