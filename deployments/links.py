"""Kept connections to the other replicas: one link for steps, and HTTP for the rest."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Final

from app.client.connection import HttpConnection
from app.client.kept import ConnectionLostError
from app.client.reach import Reach, reach_of
from app.client.reply import Reply
from app.sessions.directory import Replica
from app.sessions.shared_tasks import SharedTasks
from app.wire.steps import StepReply, StepRequest
from deployments.peer_link import PeerLink

SECRET_HEADER: Final = "cluster-secret"  # noqa: S105  # The header's name.
CONNECTIONS_MAX: Final = 4
"""HTTP connections to one replica: replies on one come in order, so a slow one holds up those behind it."""
BUSY: Final = 8
"""Requests under way on every HTTP connection from which on another one is opened."""
CONNECT_TIMEOUT_S: Final = 2.0
"""Longest wait for a connection to a replica."""
PROBES: Final = 20
"""Looks at a replica that has lost a connection: a killed process closes its sockets one after another."""
PROBE_PAUSE_S: Final = 0.05
"""Pause between two of them."""
PROBE_TIMEOUT_S: Final = 1.0
"""Longest wait for the answer to one."""
UNHEARD_MS: Final = 2_000
"""Milliseconds for which the other machine's kernel may leave bytes of a link unacknowledged: beyond it is gone, or the
way to it is cut. A process that stands still has a kernel that goes on."""


class ReplicaGoneError(Exception):
    """Nobody listens where the replica did: its process is gone."""


class ReplicaSilentError(ConnectionLostError):
    """Its machine does not answer either: it is gone, or the way to it is cut."""


class Links:
    """Sends steps and requests to replicas, over few connections."""

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self._links: dict[str, PeerLink] = {}
        self._opening: SharedTasks[PeerLink] = SharedTasks()
        self._connections: dict[str, list[HttpConnection]] = {}

    async def step(
        self, replica: Replica, request: StepRequest, timeout_s: float, *, via_gateway: bool = False
    ) -> StepReply:
        """Returns the replica's answer to a step.

        Args:
          replica: Who is asked.
          request: The step; its token stays here, where it was checked.
          timeout_s: Longest wait.
          via_gateway: Whether the replica is to forward and place it as if a client had sent it.

        Raises:
          StepError: The replica's own error; a ``GameElsewhereError`` where it has handed the game on.
          ReplicaGoneError: Its process is gone.
          ReplicaSilentError: Its machine does not answer.
          ConnectionLostError: It does not answer; whether it has read the step is unknown.
        """
        link = self._links.get(replica.name)
        if link is None or not link.usable:
            link = await self._link(replica)
        try:
            return await link.send(request, timeout_s, via_gateway=via_gateway)
        except ConnectionLostError:
            if not link.usable:
                await self._probe(replica, sent=True)
            raise

    async def post(
        self, replica: Replica, path: str, headers: Mapping[str, str], body: bytes, timeout_s: float
    ) -> Reply:
        """Returns the replica's reply to an HTTP request.

        Raises:
          ReplicaGoneError: Its process is gone.
          ConnectionLostError: It does not answer; whether it has read the request is unknown.
        """
        connection = await self._connection(replica)
        try:
            return await connection.request("POST", path, {**headers, SECRET_HEADER: self._secret}, body, timeout_s)
        except ConnectionLostError:
            if not connection.usable:
                await self._probe(replica, sent=True)
            raise

    async def close(self) -> None:
        """Closes all connections."""
        await self._opening.cancel()
        for link in list(self._links.values()):
            await link.close()
        for connections in self._connections.values():
            for connection in connections:
                await connection.close()
        self._links.clear()
        self._connections.clear()

    async def _probe(self, replica: Replica, *, sent: bool) -> None:
        """Does nothing where the replica answers; a process that is about to be gone is watched until it is.

        Args:
          replica: Which.
          sent: Whether something was under way that it may have read.

        Raises:
          ReplicaGoneError: Its process is gone, and all that was under way with it.
          ReplicaSilentError: Its machine does not answer.
        """
        for _ in range(PROBES):
            try:
                connection = await self._connection(replica)
                await connection.request("GET", "/healthz", {SECRET_HEADER: self._secret}, b"", PROBE_TIMEOUT_S)
            except ReplicaSilentError as error:
                raise ReplicaSilentError(str(error), sent=sent) from error
            except ConnectionLostError:
                await asyncio.sleep(PROBE_PAUSE_S)
            else:
                return

    async def _link(self, replica: Replica) -> PeerLink:
        """Returns a new link; whoever wants it meanwhile waits for the same one, and shares its failure."""
        return await self._opening.result(replica.name, partial(self._open, replica))

    async def _open(self, replica: Replica) -> PeerLink:
        """Returns a new link and keeps it, and lets those go that have ended: replicas come and go."""
        self._links = {peer: link for peer, link in self._links.items() if link.usable}
        try:
            opened = await PeerLink.open(replica.host, replica.peer_port, self._secret, timeout_s=CONNECT_TIMEOUT_S)
            opened.end_unheard(UNHEARD_MS)
        except ConnectionLostError as error:
            _raise_if_gone(replica, error)
            raise
        self._links[replica.name] = opened
        return opened

    async def _connection(self, replica: Replica) -> HttpConnection:
        usable = [connection for connection in self._connections.get(replica.name, ()) if connection.usable]
        best = min(usable, key=lambda connection: connection.in_flight, default=None)
        if best is not None and (best.in_flight < BUSY or len(usable) >= CONNECTIONS_MAX):
            return best
        try:
            opened = await HttpConnection.open(replica.host, replica.peer_port, timeout_s=CONNECT_TIMEOUT_S)
            opened.end_unheard(UNHEARD_MS)
        except ConnectionLostError as error:
            _raise_if_gone(replica, error)
            raise
        self._connections[replica.name] = [*usable, opened]
        return opened


def _raise_if_gone(replica: Replica, error: ConnectionLostError) -> None:
    reached = reach_of(error)
    if reached is Reach.REFUSED:
        raise ReplicaGoneError(f"replica {replica.name} is gone") from error
    if reached is Reach.SILENT:
        raise ReplicaSilentError(f"nobody answers at {replica.host} for replica {replica.name}", sent=False) from error
