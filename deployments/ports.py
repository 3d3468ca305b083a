"""The ports of a replica that clients connect to: the shared game port, one of its own, and gRPC's."""

from collections import Counter

from app.config.serving import ActorConfig
from app.stores.directory import DirectoryClient
from deployments.game_port import DRAIN_S, ListeningPort, open_port, take_port
from deployments.grpc_port import GrpcPort, open_grpc_port
from deployments.listener.port import Service
from deployments.port import PortGuard


class NodePort:
    """A replica's part in the game port of its node: it listens there with the others, or not at all."""

    def __init__(self, guard: PortGuard | None) -> None:
        self._guard = guard

    @property
    def number(self) -> int:
        """Returns the port's number; 0 where the replica does not listen."""
        return 0 if self._guard is None else self._guard.port

    async def open(self, config: ActorConfig, service: Service, beside: ListeningPort) -> ListeningPort | None:
        """Returns the port, which accepts connections from now on; None where the replica does not listen.

        Args:
          config: The actor.
          service: Who answers.
          beside: The replica's other port, whose bound on bodies that are not whole yet is the bound of both.
        """
        if self._guard is None:
            return None
        return await open_port(config, service, self._guard.port, shared=True, partial_bodies=beside.partial_bodies)

    def give_up(self) -> None:
        """Lets another service have the port, once nobody listens there."""
        if self._guard is not None:
            self._guard.close()


async def take_node_port(config: ActorConfig, actor: str, owner: str, directory: DirectoryClient) -> NodePort:
    """Returns a replica's part in its node's game port: what ``use_gateway`` decides for replicas is decided here.

    Raises:
      PortInUseError: Another service listens there.
    """
    return NodePort(await take_port(config, actor, owner, directory) if config.use_gateway == "node" else None)


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
    config: ActorConfig, service: Service, direct: ListeningPort, node_port: NodePort, owner: str
) -> ClientPorts:
    """Returns the ports of a replica; from now on clients reach it.

    Args:
      config: The actor.
      service: Who answers.
      direct: Port of this very replica, open already.
      node_port: The replica's part in the game port.
      owner: Name of the service, the same in all its replicas.

    Raises:
      PortInUseError: Somebody else listens on gRPC's port.
    """
    return ClientPorts(
        await node_port.open(config, service, direct), direct, await open_grpc_port(config, service, owner)
    )
