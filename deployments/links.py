"""Kept connections to the other replicas."""

import asyncio
from collections.abc import Mapping
from typing import Final

from app.client.connection import ConnectionLostError, HttpConnection
from app.client.reply import Reply
from app.sessions.directory import Replica

SECRET_HEADER: Final = "cluster-secret"  # noqa: S105  # The header's name.
GATEWAY_HEADER: Final = "gateway"
"""Marks a step of a gateway: the replica that it reaches forwards and places it as if a client had sent it."""
CONNECTIONS_MAX: Final = 4
"""Connections to one replica: replies on one come in order, so a slow step holds up those behind it."""
BUSY: Final = 8
"""Requests under way on every connection from which on another one is opened."""
CONNECT_TIMEOUT_S: Final = 2.0
"""Longest wait for a connection to a replica."""
PROBES: Final = 20
"""Looks at a replica that has lost a connection: a killed process closes its sockets one after another."""
PROBE_PAUSE_S: Final = 0.05
"""Pause between two of them."""
PROBE_TIMEOUT_S: Final = 1.0
"""Longest wait for the answer to one."""


class ReplicaGoneError(Exception):
    """Nobody listens where the replica did: its process is gone."""


class Links:
    """Sends requests to replicas, over few connections."""

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self._connections: dict[str, list[HttpConnection]] = {}

    async def post(
        self, replica: Replica, path: str, headers: Mapping[str, str], body: bytes, timeout_s: float
    ) -> Reply:
        """Returns the replica's reply.

        Raises:
          ReplicaGoneError: Its process is gone.
          ConnectionLostError: It does not answer; whether it has read the request is unknown.
        """
        connection = await self._connection(replica)
        try:
            return await connection.request("POST", path, {**headers, SECRET_HEADER: self._secret}, body, timeout_s)
        except ConnectionLostError:
            if not connection.usable:
                await self._probe(replica)
            raise

    async def close(self) -> None:
        """Closes all connections."""
        for connections in self._connections.values():
            for connection in connections:
                await connection.close()
        self._connections.clear()

    async def _probe(self, replica: Replica) -> None:
        """Does nothing where the replica answers; a process that is about to be gone is watched until it is.

        Raises:
          ReplicaGoneError: Its process is gone, and all that was under way with it.
        """
        for _ in range(PROBES):
            try:
                connection = await self._connection(replica)
                await connection.request("GET", "/healthz", {SECRET_HEADER: self._secret}, b"", PROBE_TIMEOUT_S)
            except ConnectionLostError:
                await asyncio.sleep(PROBE_PAUSE_S)
            else:
                return

    async def _connection(self, replica: Replica) -> HttpConnection:
        usable = [connection for connection in self._connections.get(replica.name, ()) if connection.usable]
        best = min(usable, key=lambda connection: connection.in_flight, default=None)
        if best is not None and (best.in_flight < BUSY or len(usable) >= CONNECTIONS_MAX):
            return best
        try:
            opened = await HttpConnection.open(replica.host, replica.peer_port, timeout_s=CONNECT_TIMEOUT_S)
        except ConnectionLostError as error:
            if isinstance(error.__cause__, ConnectionRefusedError):
                raise ReplicaGoneError(f"replica {replica.name} is gone") from error
            raise
        self._connections[replica.name] = [*usable, opened]
        return opened
