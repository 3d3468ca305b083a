"""Asks the other replicas, of this node or of all, over their peer ports."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from app.client.connection import HttpConnection
from app.client.kept import ConnectionLostError
from app.errors import BadPayloadError
from app.sessions.directory import Replica
from app.wire.steps import parse_json
from deployments.links import SECRET_HEADER
from deployments.peer_answers import Answers, PeerAnswer

ASK_TIMEOUT_S: Final = 1.0
"""Longest wait for one replica: a scrape is answered within it, as long as fewer than ``AT_ONCE`` are silent."""
AT_ONCE: Final = 128
"""Replicas that are asked at a time: a service may have a thousand, and the console waits 10 s for silent ones."""


class Others:
    """The replicas of this service, but for this one."""

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

    def count(self) -> int:
        """Returns how many they are, on all nodes."""
        return len(self._answering(self._replicas()))

    async def of_node(self, target: str) -> Answers:
        """Returns the answer to ``GET target`` of each replica of this node, by its name; None: it is silent."""
        return await self._ask([peer for peer in self._replicas() if peer.host == self._own.host], target)

    async def of_service(self, target: str) -> Answers:
        """Returns the same of the replicas of all nodes."""
        return await self._ask(self._replicas(), target)

    async def _ask(self, peers: Iterable[Replica], target: str) -> Answers:
        room = asyncio.Semaphore(AT_ONCE)

        async def asked(peer: Replica) -> PeerAnswer | None:
            async with room:
                return await self._ask_one(peer, target)

        async with asyncio.TaskGroup() as group:
            tasks = {peer.name: group.create_task(asked(peer)) for peer in self._answering(peers)}
        return {name: task.result() for name, task in tasks.items()}

    def _answering(self, peers: Iterable[Replica]) -> list[Replica]:
        return [peer for peer in peers if not peer.is_gateway and peer.name != self._own.name]

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
