"""One session as a game core holds it, for asyncio."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from app.client.answer import Answer, header, read_reply
from app.client.connection import TooManyInFlightError
from app.client.course import Course
from app.client.errors import BadPayloadError, ClientError, StepFailedError, UnreadableReplyError
from app.client.game_client import GameClient
from app.client.outgoing import Encoder, Outgoing
from app.client.reply import Reply
from app.client.routes import Route, split_endpoint
from app.client.steps import OK, START, STOP, TICK
from app.words import Purpose

if TYPE_CHECKING:
    from google.protobuf.message import Message

CLOSING_S: Final = 2.0
"""Longest stop of a session that its caller left open; the service ends by itself what it does not hear of."""
WAITING_MAX: Final = 256
"""Steps of one session that may wait for those before them."""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """How the steps of a session are sent.

    Attributes:
      purpose: Why it is played; None leaves it to client or service.
      reply_type: Message that answers hold where they are not JSON; None leaves them as bytes.
      delta: Send ticks as differences to the last answered one where that is shorter.
      compression: Content encoding of large bodies; empty for none.
      direct: Send steps to the replica that holds the game, where the service names it.
    """

    purpose: Purpose | None = None
    reply_type: "type[Message] | None" = None
    delta: bool = False
    compression: str = ""
    direct: bool = False


class Session:
    """One agent's side of one game. Its steps are sent one after another, in the order of the calls.

    A step whose call was cancelled, or that found no service, may have been played: the next step first sends it
    again, under its own number, so that none is played twice and none is left out.
    """

    _orders = count()

    def __init__(self, client: GameClient, session: str, settings: SessionSettings) -> None:
        """Makes the handle of a session that is not started yet; ``Client`` offers shorter ways.

        Args:
          client: Sends the requests.
          session: Id; empty lets the service name it.
          settings: How steps are sent.

        Raises:
          ValueError: The id does not fit a header.
        """
        if not (session.isascii() and session.isprintable()):
            raise ValueError(f"the session id is {session!r}; allowed are printable ASCII characters")
        self.settings = settings
        self.course = Course(session, Encoder(delta=settings.delta, compression=settings.compression))
        self.order = next(self._orders)
        """Grows from session to session: who needs several takes them in this order."""
        self._client = client
        self._route = Route()
        self.once = "" if session else secrets.token_hex(16)
        """Key under which the service names the session, however often the start is sent; empty where it has an id."""
        self._turn = asyncio.Lock()
        self._waiting = 0

    @property
    def id(self) -> str:
        """Returns the session's id; empty until the service has named it."""
        return self.course.session

    @property
    def open(self) -> bool:
        """Tells whether the session is started and not stopped."""
        return self.course.open

    @property
    def resumes(self) -> int:
        """Returns how often the game went on from a snapshot after its replica was lost."""
        return self.course.resumes

    async def start(self, options: object = None) -> Answer:
        """Opens the session and returns the agent's answer; the options are the agent's.

        Raises:
          StepFailedError: The service refused; nothing is open.
          ServiceUnreachableError: No service answered in time.
        """
        return await self._step(START, options)

    async def tick(self, state: object = None, *, deadline_ms: int | None = None) -> Answer:
        """Returns the agent's answer to one tick.

        Args:
          state: Bytes, a protobuf message or a JSON value.
          deadline_ms: Longest wait of the service for its agent; None is the service's own limit.

        Raises:
          StepFailedError: The service refused; its subclass says why.
          ServiceUnreachableError: No service answered in time.
        """
        return await self._step(TICK, state, deadline_ms)

    async def stop(self, result: object = None) -> Answer:
        """Ends the episode and returns the agent's answer.

        Raises:
          StepFailedError: The service refused; its subclass says why.
          ServiceUnreachableError: No service answered in time.
        """
        return await self._step(STOP, result)

    async def close(self) -> None:
        """Stops the session if it is open, without a body and waiting at most 2 s; it never fails."""
        if self.course.open:
            with contextlib.suppress(ClientError, TimeoutError):
                async with asyncio.timeout(CLOSING_S):
                    await self.stop()

    @contextlib.asynccontextmanager
    async def in_turn(self) -> AsyncIterator[None]:
        """Holds the session's turn, once all that was sent is settled."""
        if self._waiting >= WAITING_MAX:
            raise TooManyInFlightError(f"{self._waiting} steps of session {self.id!r} wait, at most {WAITING_MAX}")
        self._waiting += 1
        try:
            async with self._turn:
                yield
        finally:
            self._waiting -= 1

    async def settle(self) -> Answer | None:
        """Learns what became of earlier steps by sending them again; returns the answer to the last; holds the turn.

        Raises:
          ServiceUnreachableError: No service answered in time.
        """
        answer = None
        with contextlib.suppress(StepFailedError):  # It was not played: its number is free.
            for step in self.course.unsettled:
                answer = await self._send(step)
        return answer

    def took(self, step: Outgoing, session: str | None, resumed_at: int | None) -> None:
        """Takes in that a step was answered, for the session that the service named."""
        self.course.played(step)
        self.course.session = session or self.course.session
        if resumed_at is not None:
            self.course.resumed()
            self._client.counts.resumed += 1

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _step(self, kind: str, payload: object, deadline_ms: int | None = None) -> Answer:
        async with self.in_turn():
            late = await self.settle() if self.course.unsettled else None
            if late is not None and (kind == START or (kind == STOP and self.course.stopped)):
                return late  # It was sent by an earlier call.
            step = self.course.next(kind, payload)
            try:
                return await self._send(step, deadline_ms)
            except BadPayloadError:
                if not step.delta:
                    raise
            return await self._send(self.course.next(kind, payload), deadline_ms)  # Whole: the refusal was noted.

    async def _send(self, step: Outgoing, deadline_ms: int | None = None) -> Answer:
        try:
            reply = await self._client.post("/step", self._headers(step, deadline_ms), step.body, route=self._route)
            answer = read_reply(reply, step.seq, self.settings.reply_type)
        except UnreadableReplyError as error:
            if error.status == OK:
                self.took(step, None, None)
            raise
        except StepFailedError:
            self.course.refused(step)
            raise
        self.took(step, header(reply, "session"), answer.resumed_at)
        self._follow(reply)
        return answer

    def _headers(self, step: Outgoing, deadline_ms: int | None) -> dict[str, str]:
        headers = dict(step.headers)
        if self.course.session:
            headers["session"] = self.course.session
        elif step.kind == START:
            headers["idempotency-key"] = self.once
        if self.settings.purpose is not None:
            headers["purpose"] = self.settings.purpose.value
        if deadline_ms is not None:
            headers["deadline-ms"] = str(deadline_ms)
        return headers

    def _follow(self, reply: Reply) -> None:
        endpoint = header(reply, "endpoint")
        if self.settings.direct and endpoint:
            with contextlib.suppress(ValueError):  # No way that can be taken; the game port still is one.
                split_endpoint(endpoint)
                self._route.endpoint = endpoint
