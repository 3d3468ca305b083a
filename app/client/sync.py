"""The blocking client, for game servers without an event loop: ``from app.client.sync import Client``.

It is the asyncio client in a thread of its own: the same sessions, retries and connections. All calls may come from
any thread; steps of one session are sent in the order of the calls.
"""

import contextlib
import weakref
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from app.client import aio
from app.client.aio import CONNECTIONS, Compression, PurposeName
from app.client.answer import Answer
from app.client.errors import ClientClosedError, ClientError, StepFailedError, WaitTimeoutError
from app.client.game_client import ClientCounts
from app.client.loop_thread import LoopThread
from app.client.pool import CONNECT_S
from app.client.retry import RetryLimits
from app.client.session import CLOSING_S
from app.words import StepKind

if TYPE_CHECKING:
    from google.protobuf.message import Message

__all__ = ["Answer", "Client", "ClientCounts", "RetryLimits", "Session", "Step"]

STEPS_WAITED_FOR: Final = 3
"""A call waits at most for so many steps: one of another thread, one that is not settled, and its own."""

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a batch.

    Attributes:
      session: Whose it is.
      body: Bytes, a protobuf message or a JSON value; of a start its options.
      kind: ``start``, ``tick`` or ``stop``.
    """

    session: "Session"
    body: object = None
    kind: str = StepKind.TICK.value


class Session:
    """One agent's side of one game; ``app.client.session`` tells more."""

    def __init__(self, client: "Client", inner: aio.Session) -> None:
        self._client, self.inner = client, inner

    @property
    def id(self) -> str:
        """Returns the session's id; empty until the service has named it."""
        return self.inner.id

    @property
    def open(self) -> bool:
        """Tells whether the session is started and not stopped."""
        return self.inner.open

    @property
    def resumes(self) -> int:
        """Returns how often the game went on from a snapshot after its replica was lost."""
        return self.inner.resumes

    def start(self, options: object = None) -> Answer:
        """Opens the session and returns the agent's answer; the options are the agent's.

        Raises:
          ClientError: See ``Client``.
        """
        return self._client.wait_for(self.inner.start(options))

    def tick(self, state: object = None, *, deadline_ms: int | None = None) -> Answer:
        """Returns the agent's answer to one tick.

        Args:
          state: Bytes, a protobuf message or a JSON value.
          deadline_ms: Longest wait of the service for its agent; None is the service's own limit.

        Raises:
          ClientError: See ``Client``.
        """
        return self._client.wait_for(self.inner.tick(state, deadline_ms=deadline_ms))

    def stop(self, result: object = None) -> Answer:
        """Ends the episode and returns the agent's answer.

        Raises:
          ClientError: See ``Client``.
        """
        return self._client.wait_for(self.inner.stop(result))

    def close(self) -> None:
        """Stops the session if it is open, without a body and waiting at most 2 s; it never fails."""
        if not self.inner.open:
            return
        with contextlib.suppress(ClientError):
            self._client.wait_for(self.inner.close(), 2 * CLOSING_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Client:
    """Plays any number of sessions against one service, over a bounded number of kept connections.

    A step raises StepFailedError where the service refused it (the subclass says why), ServiceUnreachableError where
    none answered in time, WaitTimeoutError where even that took too long, ClientClosedError after ``close``; all are
    ClientErrors of ``app.client.errors``.
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
        """Makes a client; nothing is sent yet. The arguments are those of ``app.client.aio.Client``.

        Raises:
          ValueError: An argument is none of those allowed, or zstd is not installed.
        """
        self._inner = aio.Client(
            url,
            key=key,
            secret=secret,
            purpose=purpose,
            limits=limits,
            connections=connections,
            compression=compression,
            direct=direct,
        )
        self._wait_s = STEPS_WAITED_FOR * (self._inner.limits.limit_s + CONNECT_S)
        self._thread = LoopThread(f"sparring client {url}")
        weakref.finalize(self, self._thread.stop)  # Also at the interpreter's end.

    @property
    def inner(self) -> aio.Client:
        """Returns the asyncio client, for calls of ``wait_for``."""
        return self._inner

    @property
    def counts(self) -> ClientCounts:
        """Returns what the client has done so far."""
        return self._inner.counts

    def wait_ready(self, wait_s: float = 60.0) -> None:
        """Returns once the service takes new games.

        Raises:
          ServiceUnreachableError: It has not within ``wait_s``.
        """
        self.wait_for(self._inner.wait_ready(wait_s), wait_s + 2 * CONNECT_S)

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
        inner = self._inner.session(
            session, game=game, agent=agent, purpose=purpose, reply_type=reply_type, delta=delta
        )
        return Session(self, inner)

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
    ) -> Session:
        """Returns a session that is open; leaving its ``with`` block stops it.

        Args:
          session: Id; empty for that of game and agent, or where there is neither for one that the service draws.
          game: The match that the session is a side of.
          agent: Which of its sides.
          purpose: Why it is played; None leaves it to client or service.
          options: Body of the start, read by the agent.
          reply_type: Protobuf message that answers hold where they are not JSON; None leaves them as bytes.
          delta: Send ticks as differences to the last answered one where that is shorter.

        Raises:
          ClientError: See ``Client``.
          ValueError: Names contradict each other.
        """
        handle = self.session(session, game=game, agent=agent, purpose=purpose, reply_type=reply_type, delta=delta)
        handle.start(options)
        return handle

    def auto(
        self, state: object = None, *, reply_type: "type[Message] | None" = None, deadline_ms: int | None = None
    ) -> Answer:
        """Returns the agent's answer to one observation, without a session.

        Raises:
          ClientError: See ``Client``.
        """
        return self.wait_for(self._inner.auto(state, reply_type=reply_type, deadline_ms=deadline_ms))

    def steps(self, steps: Sequence[Step]) -> list[Answer | StepFailedError]:
        """Returns what became of the steps of many sessions, in their order, from one request.

        Raises:
          ClientError: The request as a whole failed; see ``Client``.
          ValueError: A session has no id.
        """
        return self.wait_for(self._inner.steps([aio.Step(step.session.inner, step.body, step.kind) for step in steps]))

    def close(self) -> None:
        """Closes the connections and ends the thread; what other threads wait for fails."""
        try:
            with contextlib.suppress(ClientClosedError, WaitTimeoutError):
                self.wait_for(self._inner.close(), CONNECT_S)
        finally:
            self._thread.stop()

    def wait_for(self, call: Coroutine[Any, Any, ResultT], wait_s: float | None = None) -> ResultT:
        """Returns the result of a call of the asyncio client, which an interrupt of this thread cancels.

        Args:
          call: What to wait for.
          wait_s: For how long; None for what a step with all its tries may take.

        Raises:
          ClientError: See ``Client``.
        """
        return self._thread.run(call, self._wait_s if wait_s is None else wait_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
