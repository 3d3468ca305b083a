"""Asks the other replicas of this node, over their peer ports."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from app.client.connection import HttpConnection
from app.client.kept import ConnectionLostError
from app.errors import BadPayloadError
from app.sessions.directory import Replica
from app.wire.steps import parse_json
from deployments.admin import PeerAnswer
from deployments.links import SECRET_HEADER

ASK_TIMEOUT_S: Final = 1.0
"""Longest wait for one replica: a scrape is answered within it, whoever is silent."""


class NodePeers:
    """The replicas that run on this node, but for this one."""

    def __init__(self, replicas: Callable[[], Iterable[Replica]], own: Replica, secret: str) -> None:
        """Knows the way.

        Args:
          replicas: Returns the live replicas, of any node, as far as they are known.
          own: This replica.
          secret: Secret that the peers' ports ask for.
        """
        self._replicas = replicas
        self._own = own
        self._secret = secret

    async def ask(self, target: str) -> Mapping[str, PeerAnswer | None]:
        """Returns each replica's answer to ``GET target``, by its name; None for one that is silent."""
        peers = [peer for peer in self._replicas() if peer.host == self._own.host and peer.name != self._own.name]
        async with asyncio.TaskGroup() as group:
            asked = {peer.name: group.create_task(self._ask_one(peer, target)) for peer in peers}
        return {name: task.result() for name, task in asked.items()}

    async def _ask_one(self, peer: Replica, target: str) -> PeerAnswer | None:
        """Asks on a connection of its own: one that forwards steps must not wait for a replica that stands still."""
        connection: HttpConnection | None = None
        try:
            async with asyncio.timeout(ASK_TIMEOUT_S):
                connection = await HttpConnection.open(peer.host, peer.peer_port, timeout_s=ASK_TIMEOUT_S)
                headers = {SECRET_HEADER: self._secret}
                reply = await connection.request("GET", target, headers, b"", ASK_TIMEOUT_S)
                return PeerAnswer(reply.status, parse_json(reply.body))
        except (ConnectionLostError, TimeoutError, BadPayloadError):
            return None
        finally:
            if connection is not None:
                await connection.close()
