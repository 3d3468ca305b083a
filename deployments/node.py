"""Asks the other replicas of this node, over their peer ports."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

from ray.exceptions import RayError

from app.client.connection import ConnectionLostError, HttpConnection
from app.errors import BadPayloadError
from app.sessions.directory import Replica
from app.wire.steps import parse_json
from deployments.admin import PeerAnswer
from deployments.forward import SECRET_HEADER

ASK_TIMEOUT_S: Final = 1.0
"""Longest wait for one replica: a scrape is answered within it, whoever is silent."""

_log = logging.getLogger(__name__)


class NodePeers:
    """The replicas of a directory that run on this node, but for this one."""

    def __init__(self, replicas: Callable[[], Awaitable[Iterable[Replica]]], own: Replica, secret: str) -> None:
        """Knows the way.

        Args:
          replicas: Returns all live replicas, of any node.
          own: This replica.
          secret: Secret that the peers' ports ask for.
        """
        self._replicas = replicas
        self._own = own
        self._secret = secret
        self._known: list[Replica] = []

    async def ask(self, target: str) -> Mapping[str, PeerAnswer | None]:
        """Returns each replica's answer to ``GET target``, by its name; None for one that is silent.

        While the directory is away, those are asked that it has named before.
        """
        try:
            async with asyncio.timeout(ASK_TIMEOUT_S):
                self._known = list(await self._replicas())
        except (RayError, TimeoutError) as error:
            _log.warning("the directory does not answer: %s", error)
        peers = [peer for peer in self._known if peer.host == self._own.host and peer.name != self._own.name]
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
