"""The ports of a replica that clients connect to: the shared game port, one of its own, and gRPC's."""

from collections import Counter

from app.config.serving import ActorConfig
from deployments.game_port import DRAIN_S, ListeningPort, open_port
from deployments.grpc_port import GrpcPort, open_grpc_port
from deployments.listener.port import Service
from deployments.port import PortGuard


class ClientPorts:
    """Opened together, drained together."""

    def __init__(self, shared: ListeningPort | None, direct: ListeningPort, grpc: GrpcPort | None) -> None:
        self._shared = shared
        self._direct = direct
        self._grpc = grpc

    @property
    def counts(self) -> Counter[str]:
        """Returns how many connections there were of each kind, and what became of them."""
        return self._direct.counts + (Counter() if self._shared is None else self._shared.counts)

    @property
    def shared(self) -> ListeningPort | None:
        """Returns the game port; None where the replica does not listen on it."""
        return self._shared

    def open_connections(self) -> int:
        """Returns how many connections are open."""
        return sum(port.open_connections() for port in self._listening())

    async def drain(self) -> None:
        """Stops to accept, answers what is under way, and closes all connections of clients that can reconnect."""
        for port in self._listening():
            await port.drain()
        if self._grpc is not None:
            await self._grpc.close(DRAIN_S)

    async def until_left(self, timeout_s: float) -> None:
        """Waits until clients that cannot reconnect within a game have left."""
        for port in self._listening():
            await port.until_left(timeout_s)

    async def close(self) -> None:
        """Closes what is left."""
        for port in self._listening():
            await port.close()

    def _listening(self) -> list[ListeningPort]:
        return [self._direct] if self._shared is None else [self._shared, self._direct]


async def open_client_ports(
    config: ActorConfig, service: Service, direct: ListeningPort, guard: PortGuard | None, owner: str
) -> ClientPorts:
    """Returns the ports of a replica; from now on clients reach it.

    Args:
      config: The actor.
      service: Who answers.
      direct: Port of this very replica, open already.
      guard: Right to listen on the game port; None where replicas do not.
      owner: Name of the service, the same in all its replicas.

    Raises:
      PortInUseError: Somebody else listens on gRPC's port.
    """
    shared = None if guard is None else await open_port(config, service, guard.port, shared=True)
    return ClientPorts(shared, direct, await open_grpc_port(config, service, owner))
