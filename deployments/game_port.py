"""The sockets of an actor replica: the game port that it shares, and the peer port of its own."""

import asyncio
from typing import Final

from ray.util import get_node_ip_address

from app.config.serving import ActorConfig
from app.stores.directory import DirectoryClient
from deployments.listener import Answer, Connections
from deployments.port import PortGuard

DRAIN_S: Final = 5.0
"""Longest wait for steps under way when a port closes."""


class ListeningPort:
    """A server and its connections."""

    def __init__(self, connections: Connections, server: asyncio.Server) -> None:
        self._connections = connections
        self._server = server
        self.port = int(server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stops to accept, answers what is under way, and closes the connections."""
        self._server.close()
        await self._connections.finish(DRAIN_S)


async def open_port(config: ActorConfig, answer: Answer, port: int, *, shared: bool) -> ListeningPort:
    """Returns a port that accepts connections; a shared one is spread by the kernel over all who listen."""
    connections = Connections(answer, max_body_bytes(config))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(connections.connection, config.host, port, reuse_port=shared or None)
    return ListeningPort(connections, server)


async def take_port(config: ActorConfig, actor: str, owner: str, directory: DirectoryClient) -> PortGuard:
    """Returns the right to listen on the actor's game port; port 0 becomes the same free port in all replicas.

    Raises:
      PortInUseError: Somebody else listens there.
    """
    guard = PortGuard(config.host, config.port or await directory.settle_port(actor, 0), owner)
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
