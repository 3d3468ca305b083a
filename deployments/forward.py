"""Brings each step to the replica that holds its game, so that any connection reaches any game."""

import asyncio
from typing import Final

from ray.exceptions import RayError

from app.client.kept import ConnectionLostError
from app.errors import (
    AgentError,
    DrainingError,
    GameElsewhereError,
    OverloadedError,
    SessionLostError,
    SessionUnknownError,
)
from app.sessions.directory import Replica
from app.sessions.ids import game_of
from app.sessions.table import SessionTable
from app.types import StepKind
from app.wire.steps import StepReply, StepRequest
from deployments.batched import PATIENCE_S, Batched
from deployments.links import Links, ReplicaGoneError, ReplicaSilentError
from deployments.members import Members
from deployments.owners import Owners
from deployments.recovery import Recovery
from deployments.steps import Step

FORWARD_TIMEOUT_S: Final = 30.0
"""Longest forwarded step; the owner's own limit is usually shorter."""
HOPS_MAX: Final = 3
"""Owners that a step is sent to one after another, while its game moves."""


class Forwarding:
    """Answers a step here, or where its game is held."""

    def __init__(self, table: SessionTable, here: Step, members: Members, links: Links, recovery: Recovery) -> None:
        """Makes the forwarding of one replica.

        Args:
          table: Tells which games are held here.
          here: Answers their steps.
          members: Who else is there.
          links: Connections to them.
          recovery: Brings games back whose owner is gone.
        """
        self._table = table
        self._here = here
        self._members = members
        self._links = links
        self._recovery = recovery
        self._finding = Batched(members.directory.find)
        self._owners = Owners()

    async def step(self, request: StepRequest) -> StepReply:
        """Returns the answer of whoever holds the game.

        Raises:
          StepError: The owner's own error, or ``session_lost`` where it is gone.
        """
        try:
            if request.kind is StepKind.AUTO or request.session in self._table:
                return await self._here(request)
            if request.kind is StepKind.START:
                return await self._start(request)
        except GameElsewhereError as error:
            return await self._at(error.owner, request)
        game = game_of(request.session)
        owner = self._owners.get(game) or await self._owner(game)
        if owner is None:
            return await self._here(request)
        return await self._at(owner, request)

    async def _start(self, request: StepRequest) -> StepReply:
        """Starts a game in the least loaded replica if this one has more than its share."""
        if game_of(request.session) not in self._table.games:
            place = self._members.better_place()
            if place is not None and (replica := self._members.replicas.get(place)) is not None:
                try:
                    return await self._send(replica, request)
                except (OverloadedError, DrainingError, ConnectionLostError, ReplicaGoneError):
                    pass  # It has changed its mind, or is gone: then here.
        return await self._here(request)

    async def _at(self, owner: str, request: StepRequest) -> StepReply:
        """Sends a step to an owner, and on to where that has handed the game."""
        game = game_of(request.session)
        for _ in range(HOPS_MAX):
            if owner == self._members.own.name:
                return await self._here(request)
            try:
                reply = await self._ask(owner, request)
            except GameElsewhereError as error:
                owner = error.owner
                continue
            except SessionUnknownError:
                found = await self._owner(game)  # The remembered owner may have been an old one.
                if found is None or found == owner:
                    raise
                owner = found
                continue
            except (ReplicaGoneError, ConnectionLostError) as error:
                owner = await self._after_loss(owner, request, error)
                continue
            self._owners.remember(game, owner)
            return reply
        raise OverloadedError(f"the game of session {request.session!r} moves; send the step again")

    async def _ask(self, owner: str, request: StepRequest) -> StepReply:
        replica = self._members.replicas.get(owner)
        if replica is None:
            found = (await self._finding.ask(game_of(request.session))).owner
            if found is None or found.name != owner:
                raise ReplicaGoneError(f"replica {owner} is gone")
            replica = found
        return await self._send(replica, request)

    async def _send(self, replica: Replica, request: StepRequest) -> StepReply:
        timeout_s = FORWARD_TIMEOUT_S + (request.deadline_ms or 0.0) / 1000
        return await self._links.step(replica, request, timeout_s)

    async def _owner(self, game: str) -> str | None:
        """Returns who holds a game, after its recovery where its owner is gone; None where nobody does."""
        found = await self._finding.ask(game)
        if found.claim is None:
            return None
        if found.owner is None:
            return await self._recovery.recover(game)
        self._owners.remember(game, found.owner.name)
        return found.owner.name

    async def _after_loss(self, owner: str, request: StepRequest, error: Exception) -> str:
        """Returns who holds the game now that its owner did not answer."""
        game = game_of(request.session)
        self._owners.forget(game)
        if await self._is_gone(owner, error):
            return await self._owner_after(owner, request, error)
        if request.seq is None and isinstance(error, ConnectionLostError) and error.sent:
            raise AgentError(f"replica {owner} closed the connection; whether it played the step is unknown") from error
        return owner

    async def _is_gone(self, owner: str, error: Exception) -> bool:
        """Returns whether a replica that did not answer is gone; of a silent machine the directory has heard nothing.

        Raises:
          OverloadedError: The directory does not answer.
        """
        try:
            async with asyncio.timeout(PATIENCE_S):
                if isinstance(error, ReplicaGoneError):
                    await self._members.directory.leave(owner)
                    return True
                return isinstance(error, ReplicaSilentError) and await self._members.directory.leave_if_silent(owner)
        except (RayError, TimeoutError) as failure:
            raise OverloadedError(f"replica {owner} does not answer, nor does the directory: {failure}") from failure

    async def _owner_after(self, gone: str, request: StepRequest, error: Exception) -> str:
        """Returns who holds a game whose replica is gone; a start of which nothing is left begins it anew here."""
        try:
            found = await self._owner(game_of(request.session))
        except SessionLostError:
            if request.kind is not StepKind.START:
                raise
            found = self._members.own.name
        if found is None and request.kind is not StepKind.START:
            raise SessionLostError(f"replica {gone} held session {request.session!r} and is gone") from error
        return found or self._members.own.name
