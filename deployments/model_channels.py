"""Kept connections from an actor replica to all replicas of one remote model."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from typing import Final, NamedTuple

from ray.exceptions import RayError

from app.client.kept import ConnectionLostError
from app.errors import BodyTooLargeError, DrainingError, OverloadedError
from app.models.engine import Answer
from app.models.question import Leaves
from app.models.spec import ModelSpec
from app.models.waiting import Within
from app.types import Version
from deployments.model_link import ModelLink
from deployments.model_wire import ModelWire

LOOK_S: Final = 3.0
"""Seconds between two looks which replicas there are; a lost connection is a reason to look at once."""
LOOK_AGAIN_S: Final = 0.2
"""Shortest time between two looks: a replica that has just died is still listed for a moment."""
LOOK_TIMEOUT_S: Final = 5.0
"""Longest wait for the list of replicas."""
CONNECT_TIMEOUT_S: Final = 2.0
"""Longest wait for a connection."""
CALL_TIMEOUT_S: Final = 4.0
"""Longest wait for an answer; then another replica is asked, as a call that changes nothing may be made twice."""

_log = logging.getLogger(__name__)


class Endpoint(NamedTuple):
    """Where a model replica listens."""

    replica: str
    host: str
    port: int


Find = Callable[[], Awaitable[Collection[Endpoint]]]
"""Returns the replicas that there are now."""


class NoChannelError(Exception):
    """No connection to any replica has brought an answer."""


class ModelChannels:
    """Asks the replica with the least to do, and another one where that fails."""

    def __init__(self, find: Find, spec: ModelSpec, secret: str, counts: Counter[str]) -> None:
        """Makes no connection yet.

        Args:
          find: Knows the replicas.
          spec: The model's shapes.
          secret: The cluster's.
          counts: Where connections that were made are counted, and calls that a second replica had to answer.
        """
        self._counts = counts
        self._find = find
        self._wire = ModelWire(spec, secret)
        self._links: dict[Endpoint, ModelLink] = {}
        self._leaving: list[ModelLink] = []
        """Links of replicas that are no longer listed, until what is under way is answered."""
        self._look = asyncio.Event()

    @property
    def open(self) -> int:
        """Returns how many replicas are reached."""
        return sum(link.usable for link in self._links.values())

    async def forward(self, inputs: Leaves, states: Leaves, version: Version | None, within: Within) -> Answer:
        """Returns the answer to a batch, given and taken by leaves, that is wanted within so many seconds.

        Raises:
          NoChannelError: No replica is reached.
          Exception: What the replica raised.
        """
        tried: set[ModelLink] = set()
        refused: OverloadedError | None = None
        while (link := self._best(tried)) is not None:
            tried.add(link)
            try:
                return await link.ask(inputs, states, version, within, CALL_TIMEOUT_S)
            except (ConnectionLostError, DrainingError):
                self._counts["model_calls_repeated"] += 1
                self._look.set()
            except OverloadedError as error:
                refused = error
            except BodyTooLargeError as error:
                raise NoChannelError(str(error)) from error
        if refused is not None:
            raise refused
        raise NoChannelError("no replica of the model is reached")

    async def run(self) -> None:
        """Connects to replicas that come, and lets go of those that leave, for as long as it runs."""
        try:
            while True:
                self._look.clear()
                await self.look()
                await asyncio.sleep(LOOK_AGAIN_S)
                try:
                    async with asyncio.timeout(LOOK_S - LOOK_AGAIN_S):
                        await self._look.wait()
                except TimeoutError:
                    continue
        finally:
            await self.close()

    async def look(self) -> None:
        """Looks once which replicas there are."""
        try:
            async with asyncio.timeout(LOOK_TIMEOUT_S):
                found = set(await self._find())
        except (RayError, TimeoutError) as error:
            _log.warning("the replicas of the model cannot be listed, asking again: %s", error)
            return
        for endpoint, link in list(self._links.items()):
            if endpoint not in found or not link.usable:
                link.retire()
                self._leaving.append(self._links.pop(endpoint))
        await asyncio.gather(*(self._open(endpoint) for endpoint in found - self._links.keys()))
        over = [link for link in self._leaving if link.in_flight == 0]
        self._leaving = [link for link in self._leaving if link.in_flight]
        for link in over:
            await link.close()

    async def close(self) -> None:
        """Closes all connections."""
        for link in (*self._links.values(), *self._leaving):
            await link.close()
        self._links.clear()
        self._leaving.clear()

    async def _open(self, endpoint: Endpoint) -> None:
        try:
            link = await ModelLink.open(endpoint.host, endpoint.port, self._wire, timeout_s=CONNECT_TIMEOUT_S)
        except ConnectionLostError as error:  # It has just ended, or cannot be reached from here.
            _log.info("model replica %s is not reached: %s", endpoint.replica, error)
            return
        self._counts["model_links"] += 1
        self._links[endpoint] = link

    def _best(self, tried: set[ModelLink]) -> ModelLink | None:
        """Returns the link to who has the least to do; among equals the one that was asked the least."""
        usable = [link for link in self._links.values() if link.usable and link not in tried]
        return min(usable, key=lambda link: (link.load_rows, link.calls), default=None)
