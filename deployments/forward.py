"""Forwards steps between replicas over kept connections, so that any connection reaches any game."""

import hmac
from collections.abc import Mapping
from typing import Final

from app.client.connection import ConnectionLostError, HttpConnection
from app.client.reply import Reply
from app.errors import AgentError, SessionExistsError, SessionLostError, StepError
from app.sessions.directory import Replica
from app.sessions.ids import game_of
from app.stores.directory import DirectoryClient
from app.types import SessionId, StepKind, Version
from app.wire.http import HttpRequest
from app.wire.steps import JsonBody, StepReply, StepRequest, body_bytes, parse_json

SECRET_HEADER: Final = "cluster-secret"  # noqa: S105  # The header's name.
CONNECT_TIMEOUT_S: Final = 2.0
"""Longest wait for a connection to a peer."""
FORWARD_TIMEOUT_S: Final = 30.0
"""Longest forwarded step; the owner's own limit is usually shorter."""


class OwnedElsewhereError(SessionExistsError):
    """A start for a game that another replica holds already."""


class Peers:
    """The other replicas, by way of the directory."""

    def __init__(self, directory: DirectoryClient, own: Replica, secret: str) -> None:
        self._directory = directory
        self._own = own
        self._secret = secret
        self._connections: dict[str, HttpConnection] = {}

    async def join(self) -> None:
        """Enters the directory."""
        await self._directory.join(self._own)

    async def claim(self, session: SessionId) -> None:
        """Makes this replica the owner of the session's game.

        Raises:
          OwnedElsewhereError: Another replica was first.
        """
        owner = await self._directory.claim(game_of(session), self._own.name)
        if owner is not None:
            raise OwnedElsewhereError(f"the game of session {session!r} is held by replica {owner.name}")

    async def forward(self, request: StepRequest) -> StepReply | None:
        """Returns the reply of the replica that holds the game; None where no other replica does.

        Raises:
          StepError: The owner's own error, or ``session_lost`` where it is gone.
        """
        owner = await self._directory.owner(game_of(request.session))
        if owner is None or owner.name == self._own.name:
            return None
        try:
            reply = await self._send(owner, request)
        except ConnectionLostError as error:
            await self._directory.leave(owner.name)
            if request.kind is StepKind.START:
                return None
            raise SessionLostError(f"replica {owner.name} held session {request.session!r} and is gone") from error
        return _read(request, reply)

    async def release(self, games: list[str]) -> None:
        """Lets finished games go."""
        await self._directory.release(games, self._own.name)

    def admits(self, request: HttpRequest) -> bool:
        """Returns whether a request on the peer port comes from a replica of this service."""
        return hmac.compare_digest(request.fields.get(SECRET_HEADER, ""), self._secret)

    async def close(self) -> None:
        """Leaves the directory and closes the connections."""
        for connection in self._connections.values():
            await connection.close()
        await self._directory.leave(self._own.name)

    async def _send(self, owner: Replica, request: StepRequest) -> Reply:
        connection = self._connections.get(owner.name)
        if connection is None or not connection.usable:
            connection = await HttpConnection.open(owner.host, owner.peer_port, timeout_s=CONNECT_TIMEOUT_S)
            self._connections[owner.name] = connection
        return await connection.request(
            "POST", "/step", self._headers(request), body_bytes(request.body), FORWARD_TIMEOUT_S
        )

    def _headers(self, request: StepRequest) -> Mapping[str, str]:
        headers = {"session": request.session, "step_kind": str(request.kind), SECRET_HEADER: self._secret}
        if request.purpose is not None:
            headers["purpose"] = str(request.purpose)
        if request.seq is not None:
            headers["seq"] = str(request.seq)
        if request.deadline_ms is not None:
            headers["deadline_ms"] = str(int(request.deadline_ms))
        return headers


def _read(request: StepRequest, reply: Reply) -> StepReply:
    if reply.status != 200:  # noqa: PLR2004  # The one good status.
        raise _error(reply)
    version = reply.headers.get("policy_version")
    is_json = reply.headers.get("content-type") == "application/json"
    return StepReply(
        session=request.session,
        body=JsonBody(parse_json(reply.body)) if is_json else reply.body,
        seq=int(reply.headers["seq"]),
        version=None if version is None else Version.parse(version),
    )


def _error(reply: Reply) -> StepError:
    document = parse_json(reply.body)
    if not isinstance(document, dict):
        return AgentError(f"the owner of the game answered status {reply.status} without a problem document")
    classes = {error.code: error for error in _subclasses(StepError)}
    return classes.get(str(document.get("code")), AgentError)(str(document.get("detail")))


def _subclasses(base: type[StepError]) -> list[type[StepError]]:
    return [base, *(c for child in base.__subclasses__() for c in _subclasses(child))]
