"""The client for asyncio: ``from app.client.aio import Client``."""

from collections.abc import Generator, Sequence
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, Self

from app.client.answer import Answer, read_reply
from app.client.batch import Step, play_batch
from app.client.errors import StepFailedError
from app.client.game_client import ClientCounts, GameClient
from app.client.outgoing import Encoder
from app.client.retry import RetryLimits
from app.client.session import Session, SessionSettings
from app.client.signer import Signer
from app.client.steps import FIRST_SEQ
from app.words import Purpose, StepKind

if TYPE_CHECKING:
    from google.protobuf.message import Message

__all__ = ["Answer", "Client", "ClientCounts", "RetryLimits", "Session", "Starting", "Step"]

CONNECTIONS: Final = 8
"""Connections to the game port: enough that a slow answer holds up few sessions."""

Compression = Literal["gzip", "zstd"]
"""Content encodings that a client may ask for."""

PurposeName = Purpose | Literal["train", "evaluate", "play"]
"""Why sessions are played."""


class Starting:
    """A start that is sent when awaited, or on entry of ``async with``, whose end stops the session."""

    def __init__(self, session: Session, options: object) -> None:
        self._session, self._options = session, options

    def __await__(self) -> Generator[object, None, Session]:
        return self._started().__await__()

    async def __aenter__(self) -> Session:
        return await self._started()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def _started(self) -> Session:
        await self._session.start(self._options)
        return self._session


class Client:
    """Plays any number of sessions against one service, over a bounded number of kept connections.

    For use within one event loop; all it raises is below ``app.client.errors.ClientError``, but for a TypeError or
    ValueError where an argument is none of those allowed.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        secret: str | None = None,
        purpose: PurposeName | None = None,
        limits: RetryLimits | None = None,
        connections: int = CONNECTIONS,
        compression: Compression | None = None,
        direct: bool = False,
    ) -> None:
        """Makes a client; nothing is sent yet.

        Args:
          url: The game port, as ``http://host:36390``, or ``https://…`` where a proxy ends TLS in front of it.
          key: Names the client to a service with keys.
          secret: What the client shares with it; None where the key alone is enough.
          purpose: Why sessions are played; None leaves it to the service.
          limits: Time limits of one step with all its tries.
          connections: Most connections to the game port.
          compression: Content encoding that bodies of 1 KiB and more have, and that replies may have.
          direct: Send the steps of a session to the replica that holds its game, where the service names it.

        Raises:
          ValueError: An argument is none of those allowed, or zstd is not installed.
        """
        if secret is not None and key is None:
            raise ValueError("a secret needs the key that it belongs to")
        if compression not in (None, "gzip", "zstd"):
            raise ValueError(f"compression is {compression!r}; allowed are gzip, zstd and None")
        if compression == "zstd" and find_spec("zstandard") is None:
            raise ValueError("zstd needs the package zstandard: pip install zstandard, or take gzip")
        if direct and url.startswith("https:"):
            raise ValueError("direct goes past the proxy that ends TLS, and would speak without it; allowed is http")
        self.limits = limits or RetryLimits()
        self._compression, self._direct = compression or "", direct
        self._link = GameClient(
            url,
            None if purpose is None else Purpose(purpose),
            self.limits,
            connections=connections,
            signer=None if key is None else Signer(key, secret),
            compression=self._compression,
        )

    @property
    def counts(self) -> ClientCounts:
        """Returns what the client has done so far."""
        return self._link.counts

    async def wait_ready(self, wait_s: float = 60.0) -> None:
        """Returns once the service takes new games.

        Raises:
          ServiceUnreachableError: It has not within ``wait_s``.
        """
        await self._link.wait_ready(wait_s)

    def session(
        self,
        session: str = "",
        *,
        game: str | None = None,
        agent: str | None = None,
        purpose: PurposeName | None = None,
        reply_type: "type[Message] | None" = None,
        delta: bool = False,
    ) -> Session:
        """Returns a session that is not started yet; ``start`` tells of the arguments.

        Raises:
          ValueError: Names contradict each other.
        """
        settings = SessionSettings(
            purpose=None if purpose is None else Purpose(purpose),
            reply_type=reply_type,
            delta=delta,
            compression=self._compression,
            direct=self._direct,
        )
        return Session(self._link, _session_id(session, game, agent), settings)

    def start(
        self,
        session: str = "",
        *,
        game: str | None = None,
        agent: str | None = None,
        purpose: PurposeName | None = None,
        options: object = None,
        reply_type: "type[Message] | None" = None,
        delta: bool = False,
    ) -> Starting:
        """Returns what opens a session: ``await`` it for the session, or enter it with ``async with``.

        Args:
          session: Id; empty for that of game and agent, or where there is neither for one that the service draws.
          game: The match that the session is a side of.
          agent: Which of its sides.
          purpose: Why it is played; None leaves it to client or service.
          options: Body of the start, read by the agent.
          reply_type: Protobuf message that answers hold where they are not JSON; None leaves them as bytes.
          delta: Send ticks as differences to the last answered one where that is shorter.

        Raises:
          StepFailedError: When awaited: the service refused.
          ServiceUnreachableError: When awaited: no service answered in time.
          ValueError: Names contradict each other.
        """
        handle = self.session(session, game=game, agent=agent, purpose=purpose, reply_type=reply_type, delta=delta)
        return Starting(handle, options)

    async def auto(
        self, state: object = None, *, reply_type: "type[Message] | None" = None, deadline_ms: int | None = None
    ) -> Answer:
        """Returns the agent's answer to one observation, without a session.

        Raises:
          StepFailedError: The service refused.
          ServiceUnreachableError: No service answered in time.
        """
        encoder = Encoder(delta=False, compression=self._compression)
        step = encoder.encode(StepKind.AUTO.value, FIRST_SEQ, state)
        headers = {name: value for name, value in step.headers.items() if name != "seq"}
        if deadline_ms is not None:
            headers["deadline-ms"] = str(deadline_ms)
        return read_reply(await self._link.post("/step", headers, step.body), step.seq, reply_type)

    async def steps(self, steps: Sequence[Step]) -> list[Answer | StepFailedError]:
        """Returns what became of the steps of many sessions, in their order, from one request.

        Raises:
          StepFailedError: The request as a whole was refused.
          ServiceUnreachableError: No service answered in time.
          SessionClosedError: A step does not fit what its session is at; nothing was sent.
          ValueError: A session has no id.
        """
        return await play_batch(self._link, steps)

    async def close(self) -> None:
        """Closes the connections; sessions that are open are ended by the service after a while."""
        await self._link.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _session_id(session: str, game: str | None, agent: str | None) -> str:
    if session and (game or agent):
        raise ValueError(f"a session id is given ({session!r}) and a game or agent as well; allowed is one of them")
    if agent and not game:
        raise ValueError(f"agent {agent!r} of which game? give game=… too")
    return f"{game}-agent-{agent}" if agent else session or game or ""
