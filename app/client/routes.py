"""Where a session's steps go: to the game port, or straight to the replica that holds the game."""

import ssl
from dataclasses import dataclass

from app.client.pool import ConnectionPool

DIRECT_POOLS_MAX = 64
"""Replicas reached directly at a time; the one longest unused makes room for the next."""
DIRECT_CONNECTIONS = 2
"""Connections to each of them."""


@dataclass(slots=True)
class Route:
    """One session's way.

    Attributes:
      endpoint: ``host:port`` of the game's own replica; None sends to the game port.
    """

    endpoint: str | None = None


class Pools:
    """Connections to the game port and to replicas."""

    def __init__(self, host: str, port: int, connections: int, tls: ssl.SSLContext | None = None) -> None:
        self.main = ConnectionPool(host, port, connections, tls)
        self._direct: dict[str, ConnectionPool] = {}

    def of(self, route: Route) -> ConnectionPool:
        """Returns the connections that a session's next step takes.

        Raises:
          ValueError: The route's endpoint is no address.
        """
        endpoint = route.endpoint
        if endpoint is None:
            return self.main
        pool = self._direct.pop(endpoint, None)
        if pool is None:
            self._make_room()
            pool = ConnectionPool(*split_endpoint(endpoint), DIRECT_CONNECTIONS)
        self._direct[endpoint] = pool  # The newest used one stands last.
        return pool

    async def close(self) -> None:
        """Closes all connections."""
        await self.main.close()
        while self._direct:
            _, pool = self._direct.popitem()
            await pool.close()

    def _make_room(self) -> None:
        while len(self._direct) >= DIRECT_POOLS_MAX:
            unused = next((name for name, pool in self._direct.items() if pool.idle), None)
            if unused is None:
                return  # All are at work: there are not more of them than sessions.
            self._direct.pop(unused).retire()


def split_endpoint(endpoint: str) -> tuple[str, int]:
    """Returns host and port of ``host:port`` or ``[host]:port``.

    Raises:
      ValueError: It is written otherwise.
    """
    host, colon, port = endpoint.rpartition(":")
    if not (colon and host and port.isascii() and port.isdecimal()):
        raise ValueError(f"an endpoint is written host:port, got {endpoint!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)
