"""Answers HTTP requests with the session table, and with other replicas where they hold the game."""

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Protocol

from app.errors import AgentError, BadRequestError, StepError
from app.logs.failures import Failures
from app.wire.compression import deflate, inflate
from app.wire.http import BYTES, JSON, HttpReply, HttpRequest
from app.wire.messages import answer_batch
from app.wire.proto_batches import PROTOBUF, is_protobuf, proto_batch_of
from app.wire.routes import unserved
from app.wire.step_batches import batch_of, batch_reply
from app.wire.step_fields import check_protocol, parse_whole, step_of
from app.wire.steps import StepReply, StepRequest
from deployments.record_pages import RECORDINGS

if TYPE_CHECKING:
    from app.types import SessionId


class Step(Protocol):
    """Answers a step."""

    async def __call__(self, request: StepRequest) -> StepReply:
        """Returns the answer.

        Raises:
          StepError: The step cannot be answered.
        """


class Show(Protocol):
    """Answers an operator."""

    async def __call__(self, request: HttpRequest) -> HttpReply:
        """Returns the reply.

        Raises:
          StepError: The request cannot be answered.
        """


class StepService:
    """What the game port, the peer port and Serve's port have in common."""

    def __init__(
        self,
        anywhere: Step,
        show: Show,
        show_here: Show,
        max_body_bytes: int,
        counts: Counter[str] | None = None,
    ) -> None:
        """Makes the service of one replica.

        Args:
          anywhere: Answers a step wherever its game is held.
          show: Shows an operator what all replicas say together.
          show_here: Shows another replica this one's part.
          max_body_bytes: Largest body, after it is unpacked.
          counts: Where failures of our own are counted; None keeps counts of its own.
        """
        self._anywhere = anywhere
        self._show = show
        self._show_here = show_here
        self._max_body_bytes = max_body_bytes
        self._failures = Failures(Counter() if counts is None else counts)

    async def answer(self, request: HttpRequest) -> HttpReply:
        """Returns the reply to a request of a game core.

        Raises:
          StepError: The request cannot be answered.
        """
        if request.method == b"POST" and request.path in ("/step", "/steps"):
            return _packed(await self._answered(request), request.fields.get("accept-encoding"))
        if request.method in (b"GET", b"HEAD") or (request.method, request.path) == (b"POST", RECORDINGS):
            return await self._show(request)
        return unserved(request)

    async def step(self, request: StepRequest) -> StepReply:
        """Returns the answer to one step, wherever its game is held.

        Raises:
          StepError: Whatever keeps the step from being answered.
        """
        return await self._anywhere(request)

    async def batch(self, steps: list[StepRequest]) -> list[StepReply | StepError]:
        """Returns the answers in the order of the steps; those of one session are answered one behind another."""
        return await self._batch(steps)

    async def answer_peer(self, request: HttpRequest) -> HttpReply:
        """Returns the reply to what another replica asks about this one; steps come on its link.

        Raises:
          StepError: The request cannot be answered.
        """
        if request.method in (b"GET", b"HEAD"):
            return await self._show_here(request)
        raise BadRequestError(f"the peer port shows by HTTP, and takes steps on links; got a {request.method!r}")

    async def _answered(self, request: HttpRequest) -> HttpReply:
        _check_protocol(request)
        encoding = request.fields.get("content-encoding")
        body = request.body if encoding is None else inflate(request.body, encoding, self._max_body_bytes)
        if request.path == "/step":
            return _reply(await self._anywhere(step_of(request.fields, body)))
        if is_protobuf(request.fields):
            steps = proto_batch_of(request.fields, body)
            answers = await self._batch(steps)
            return HttpReply(200, answer_batch(steps, answers), PROTOBUF, _version_header(answers))
        steps = batch_of(request.fields, body)
        answers = await self._batch(steps)
        return HttpReply(200, batch_reply(steps, answers), headers=_version_header(answers))

    async def _batch(self, steps: list[StepRequest]) -> list[StepReply | StepError]:
        """Answers all items: those of one session in order, sessions side by side."""
        answers: list[StepReply | StepError] = [AgentError("not answered")] * len(steps)

        async def run(items: list[int]) -> None:
            for at in items:
                try:
                    answers[at] = await self._anywhere(steps[at])
                except StepError as error:
                    answers[at] = error
                except Exception as error:  # noqa: BLE001  # A lost directory, say; the others get their answers.
                    self._failures.tell(error, "a step of a batch failed")
                    answers[at] = AgentError(f"the service failed: {type(error).__name__}")

        sessions: dict[SessionId | int, list[int]] = {}
        for at, request in enumerate(steps):
            sessions.setdefault(request.session or at, []).append(at)
        async with asyncio.TaskGroup() as group:
            for items in sessions.values():
                group.create_task(run(items))
        return answers


def _packed(reply: HttpReply, accept: str | None) -> HttpReply:
    """Returns the reply, compressed where the client accepts it and it helps."""
    if accept is None:
        return reply
    body, encoding = deflate(reply.body, accept)
    if encoding is None:
        return reply
    headers = (*reply.headers, (b"Content-Encoding", encoding.encode()), (b"Vary", b"Accept-Encoding"))
    return reply._replace(body=body, headers=headers)


def _check_protocol(request: HttpRequest) -> None:
    given = request.fields.get("protocol")
    if given is not None:
        check_protocol(parse_whole("protocol", given))


def _version_header(answers: list[StepReply | StepError]) -> tuple[tuple[bytes, bytes], ...]:
    """Returns the header that names the weights behind a batch, where all answers are of one version."""
    versions = {answer.version for answer in answers if isinstance(answer, StepReply)} - {None}
    return tuple((b"policy_version", str(version).encode()) for version in versions) if len(versions) == 1 else ()


def _reply(reply: StepReply) -> HttpReply:
    headers = [(b"session", reply.session.encode()), (b"seq", b"%d" % reply.seq)]
    if reply.version is not None:
        headers.append((b"policy_version", str(reply.version).encode()))
    if reply.resumed_at is not None:
        headers.append((b"resumed_at", b"%d" % reply.resumed_at))
    if reply.endpoint is not None:
        headers.append((b"endpoint", reply.endpoint.encode()))
    kind = JSON if reply.is_json else BYTES
    return HttpReply(200, reply.body, kind, tuple(headers))
