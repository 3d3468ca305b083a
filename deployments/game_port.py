"""The sockets of an actor replica: the game port that it shares, and the peer port of its own."""

import asyncio
from collections import Counter
from functools import partial
from typing import Final

from ray.util import get_node_ip_address

from app.config.serving import ActorConfig, ConnectionLimits
from app.stores.directory import DirectoryClient
from app.wire.detect import Speech
from deployments.listener.detecting import DetectingConnection, Speakers
from deployments.listener.http import HttpConnection
from deployments.listener.partial import PartialBodies
from deployments.listener.peer import PeerConnection, StepOfPeer
from deployments.listener.port import Answer, Connections, HttpOnly, Service
from deployments.port import PortGuard
from deployments.shared_listener import SharedListener

DRAIN_S: Final = 5.0
"""Longest wait for steps under way when a port closes."""
ACCEPT_TURNS: Final = 3
"""Turns of the loop that accept what waits on a listening socket; one takes all that is there."""
PEER_LIMITS: Final = ConnectionLimits(idle_timeout_s=7 * 24 * 3600)
"""Links between replicas are kept: to close one that is about to be used would look like a dead replica."""


class ListeningPort:
    """A server and its connections."""

    def __init__(self, connections: Connections, listener: SharedListener) -> None:
        self._connections = connections
        self._listener = listener
        self.port = listener.port

    def open_connections(self) -> int:
        """Returns how many connections are open."""
        return len(self._connections.open)

    def shut(self) -> None:
        """Has the kernel send new connections elsewhere; from any thread."""
        self._listener.shut()

    async def reopen(self) -> None:
        """Accepts connections again after ``shut``."""
        await self._listener.reopen()

    @property
    def partial_bodies(self) -> PartialBodies:
        """Returns the bound on bodies that are not whole yet, for other ports of the replica."""
        return self._connections.partial

    @property
    def counts(self) -> Counter[str]:
        """Returns how many connections there were of each kind, and what became of them."""
        return self._connections.counts

    async def drain(self) -> None:
        """Stops to accept, answers what is under way, and closes all connections but Bray's, which never reconnect."""
        await self._stop_accepting()
        await self._connections.drain(DRAIN_S)

    async def until_left(self, timeout_s: float) -> int:
        """Waits until the connections that stayed are gone; returns how many are not."""
        return await self._connections.until_left(timeout_s)

    async def close(self) -> None:
        """Stops to accept, answers what is under way, and closes the connections."""
        await self._stop_accepting()
        await self._connections.finish(DRAIN_S)

    async def _stop_accepting(self) -> None:
        """Closes the listening socket behind the connections that wait on it: closing would reset them."""
        if self._listener.listens:
            for _ in range(ACCEPT_TURNS):
                await asyncio.sleep(0)
            self._listener.close()


async def open_port(
    config: ActorConfig, service: Service, port: int, *, shared: bool, partial_bodies: PartialBodies | None = None
) -> ListeningPort:
    """Returns a port that accepts connections.

    Args:
      config: The actor.
      service: Who answers.
      port: Port to listen on; 0 picks one.
      shared: Whether the kernel spreads the connections over all who listen.
      partial_bodies: Bound that it shares with another port; None gives it one of its own.
    """
    largest, origins = max_body_bytes(config), config.access.origins
    connections = Connections(service, largest, config.connections, origins=origins, partial=partial_bodies)
    listener = SharedListener(config.host, port, partial(DetectingConnection, connections), shared=shared)
    await listener.open()
    return ListeningPort(connections, listener)


async def open_peer_port(config: ActorConfig, secret: str, answer: Answer, step: StepOfPeer) -> ListeningPort:
    """Returns a port that accepts the links and the HTTP requests of other replicas.

    Args:
      config: The actor.
      secret: What those who forward steps must show.
      answer: Answers HTTP requests; it looks for the secret itself.
      step: Answers the steps of links.
    """
    connections = Connections(HttpOnly(answer), max_body_bytes(config), PEER_LIMITS)
    speakers: Speakers = {Speech.HTTP: HttpConnection, Speech.NATIVE: partial(PeerConnection, secret, step)}
    listener = SharedListener(
        config.host, 0, partial(DetectingConnection, connections, speakers=speakers), shared=False
    )
    await listener.open()
    return ListeningPort(connections, listener)


async def take_port(config: ActorConfig, actor: str, owner: str, directory: DirectoryClient) -> PortGuard:
    """Returns the right to listen on the actor's game port; port 0 becomes the same free port in all replicas.

    Raises:
      PortInUseError: Somebody else listens there.
    """
    if config.port:  # An update may have changed it: what the config names counts, not what was there before.
        guard = PortGuard(config.host, config.port, owner)
        await directory.fix_port(actor, guard.port)
        return guard
    guard = PortGuard(config.host, await directory.settle_port(actor, 0), owner)
    settled = await directory.settle_port(actor, guard.port)
    if settled == guard.port:
        return guard
    guard.close()
    return PortGuard(config.host, settled, owner)


def max_body_bytes(config: ActorConfig) -> int:
    """Returns the largest body that a port reads."""
    return int(config.limits.max_body_mb * 2**20)


def peer_host(config: ActorConfig) -> str:
    """Returns the address where peers reach this replica."""
    return config.host if config.host.startswith("127.") else str(get_node_ip_address())  # type: ignore[no-untyped-call]
