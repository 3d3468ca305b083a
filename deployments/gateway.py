"""Brings each step of a gateway's port to the replica that holds its game."""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from app.client.kept import ConnectionLostError
from app.errors import AgentError, OverloadedError, StepError
from app.sessions.directory import Replica
from app.sessions.ids import game_of
from app.types import StepKind
from app.wire.steps import StepReply, StepRequest
from deployments.links import ReplicaGoneError, ReplicaSilentError
from deployments.owners import Owners

TRIES_MAX: Final = 3
"""Replicas that a step is sent to one after another where one is gone."""
REPEATABLE: Final = (StepKind.START, StepKind.AUTO)
"""Kinds of step that do no harm when they are played twice, whether they carry ``seq`` or not."""


class Behind(Protocol):
    """The replicas behind a gateway, as the directory tells them."""

    replicas: dict[str, Replica]

    def better_place(self) -> str | None:
        """Returns the replica that should take a new game; None where there is none."""


class Send(Protocol):
    """Sends a step to a replica, which answers as its game port would."""

    async def __call__(self, replica: Replica, request: StepRequest) -> StepReply:
        """Returns the replica's reply.

        Raises:
          StepError: The replica's own error.
          ReplicaGoneError: Its process is gone.
          ConnectionLostError: It does not answer.
        """


class Gateway:
    """Guesses which replica holds a game; the replica knows, and forwards, recovers or begins the game itself."""

    def __init__(
        self, behind: Behind, owner_of: Callable[[str], Awaitable[str | None]], send: Send, counts: Counter[str]
    ) -> None:
        """Makes a gateway.

        Args:
          behind: Who is there.
          owner_of: Returns the name of a game's owner, from the directory; None where nobody holds it.
          send: Reaches a replica.
          counts: Where steps and errors by code are counted.
        """
        self._behind = behind
        self._owner_of = owner_of
        self._send = send
        self._counts = counts
        self._owners = Owners()

    async def step(self, request: StepRequest) -> StepReply:
        """Returns the answer of the replica that holds the game; errors are counted by code.

        Raises:
          StepError: The replica's own error, or ``overloaded`` where no replica is reached.
        """
        self._counts["steps"] += 1
        try:
            return await self._step(request)
        except StepError as error:
            self._owners.forget(game_of(request.session))  # It may have moved: the directory is asked anew.
            self._counts[error.code] += 1
            raise

    async def _step(self, request: StepRequest) -> StepReply:
        for _ in range(TRIES_MAX):
            replica = await self._replica(request)
            if replica is None:
                break
            try:
                reply = await self._send(replica, request)
            except (ReplicaGoneError, ConnectionLostError) as error:
                self._lost(replica, request, error)
                continue
            if request.kind is not StepKind.START:  # Who is crowded begins it elsewhere, and does not say so.
                self._owners.remember(game_of(request.session), replica.name)
            return reply
        raise OverloadedError(f"no replica is reached for the {request.kind}; send it again")

    async def _replica(self, request: StepRequest) -> Replica | None:
        """Returns who holds the game, else who should begin it."""
        game = game_of(request.session)
        name = self._owners.get(game) or (await self._owner_of(game) if game else None)
        owner = self._behind.replicas.get(name or "")
        if owner is None:
            owner = self._behind.replicas.get(self._behind.better_place() or "")
        return owner

    def _lost(self, replica: Replica, request: StepRequest, error: Exception) -> None:
        """Forgets a replica that did not answer.

        Raises:
          AgentError: It may have played the step, which must not be played twice.
        """
        self._owners.forget(game_of(request.session))
        if isinstance(error, ReplicaGoneError | ReplicaSilentError):
            self._behind.replicas.pop(replica.name, None)  # Until the next report, half a second on.
        if isinstance(error, ConnectionLostError) and error.sent and not _repeatable(request):
            raise AgentError(
                f"replica {replica.name} closed the connection; whether it played the step is unknown"
            ) from error


def _repeatable(request: StepRequest) -> bool:
    return request.seq is not None or request.kind in REPEATABLE
