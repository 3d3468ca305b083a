"""What a game core says to the service: requests that are repeated until they are answered."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from app.client.connection import TooManyInFlightError
from app.client.errors import ClientClosedError, ClientError, ServiceUnreachableError, UnreadableReplyError
from app.client.kept import ConnectionLostError
from app.client.pool import CONNECT_S
from app.client.reply import MAX_BODY_BYTES, Reply
from app.client.retry import Backoff, RetryLimits
from app.client.routes import Pools, Route
from app.client.signer import Signer
from app.client.steps import (
    DRAINING_STATUS,
    OK,
    RETRIED_STATUSES,
    StepAnswer,
    StepItem,
    decode_answers,
    encode,
    parse_url,
    retry_after_s,
    step_failure,
    steps_to_repeat,
    tls_of,
    version_of,
)
from app.errors import StepError
from app.wire.compression import deflate, inflate
from app.words import Purpose, StepKind

PROTOCOL = "1"
READY_POLL_S = 0.05
TICK = StepKind.TICK.value


@dataclass(slots=True)
class ClientCounts:
    """What a client has done since it was made.

    Attributes:
      requests: Requests that were answered.
      retries: Tries beyond the first of each request.
      resumed: Answers of games that go on from a snapshot after their replica was lost.
    """

    requests: int = 0
    retries: int = 0
    resumed: int = 0


class GameClient:
    """Requests over kept connections, which are opened when needed and again when lost.

    ``policy_version`` is the version that the newest reply named; None before, or where replies name none.
    """

    def __init__(
        self,
        url: str,
        purpose: Purpose | None = None,
        limits: RetryLimits | None = None,
        source: random.Random | None = None,
        *,
        connections: int = 1,
        signer: Signer | None = None,
        compression: str = "",
    ) -> None:
        """Makes a client; nothing is sent yet.

        Args:
          url: The game port, as ``http://host:port``, or ``https://host:port`` where a proxy ends TLS in front of it.
          purpose: Why sessions are played; None leaves it to the service.
          limits: Time limits of one request with all its tries.
          source: Draws the jitter of waits.
          connections: Most connections to the game port.
          signer: Makes the headers that tell who asks; None for a service without keys.
          compression: Content encoding that replies and the bodies of ``steps`` may have; empty for none.
        """
        self.url = url
        self.policy_version: str | None = None
        self.counts = ClientCounts()
        host, port, self._prefix = parse_url(url)
        self._limits = limits or RetryLimits()
        self._source = source or random.Random()  # noqa: S311  # Jitter is no secret.
        self._pools = Pools(host, port, connections, tls_of(url))
        self._signer = signer
        self._main_route = Route()
        self._closed = False
        self._headers = {"protocol": PROTOCOL}
        if purpose is not None:
            self._headers["purpose"] = purpose.value
        if compression:
            self._headers["accept-encoding"] = compression
        self._compression = compression
        self._json_headers = {"content-type": "application/json"}

    async def wait_ready(self, wait_s: float) -> None:
        """Returns once ``GET /readyz`` answers 200.

        Raises:
          ServiceUnreachableError: It has not within ``wait_s``.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_s
        while True:
            try:
                reply = await self._pools.main.request("GET", f"{self._prefix}/readyz", {}, b"", CONNECT_S)
            except (ConnectionLostError, TooManyInFlightError) as error:
                seen = str(error)
            else:
                if reply.status == OK:
                    return
                seen = f"GET /readyz answered {reply.status}"
            if loop.time() + READY_POLL_S > deadline:
                raise ServiceUnreachableError(
                    f"no service is ready at {self.url} after {wait_s:g} s ({seen}); "
                    "start one with `serve run serve_config.yaml`"
                )
            await asyncio.sleep(READY_POLL_S)

    async def step(self, session: str, kind: str, seq: int, body: bytes) -> bytes:
        """Returns the agent's bytes for one step whose body is JSON.

        Raises:
          StepFailedError: The service refused the step, or was overloaded until the time limit.
          ServiceUnreachableError: The connection was lost and not won back within the time limit.
        """
        headers = {**self._json_headers, "session": session, "step-kind": kind, "seq": str(seq)}
        return (await self.post("/step", headers, body)).body

    async def steps(self, items: Sequence[StepItem]) -> list[StepAnswer]:
        """Returns the answers to many steps, in their order, from one request.

        Steps refused as overloaded or draining are asked again, with those behind them in the same session.

        Raises:
          StepFailedError: The request as a whole was refused, or its reply is not the contract's.
          ServiceUnreachableError: The connection was lost and not won back within the time limit.
        """
        backoff = self.backoff()
        answers = await self.steps_once(items, backoff)
        while again := steps_to_repeat(items, answers):
            if not await backoff.wait():
                break
            self.counts.retries += 1
            repeated = await self.steps_once([items[index] for index in again], backoff)
            for index, answer in zip(again, repeated, strict=True):
                answers[index] = answer
        return answers

    async def steps_once(self, items: Sequence[StepItem], backoff: Backoff | None = None) -> list[StepAnswer]:
        """Returns the answers to many steps, in their order; refusals for now are answers as others are.

        Raises:
          StepFailedError: The request as a whole was refused, or its reply is not the contract's.
          ServiceUnreachableError: The connection was lost and not won back within the time limit.
        """
        answers = await self._post_steps(items, backoff or self.backoff())
        if steps_to_repeat(items, answers):
            self._pools.main.retire()  # A draining replica takes no new games; another connection may reach another.
        return answers

    def backoff(self) -> Backoff:
        """Returns the waits between the tries of one request, or of one step of it."""
        return Backoff(self._limits, self._source)

    async def post(
        self,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        route: Route | None = None,
        backoff: Backoff | None = None,
    ) -> Reply:
        """Returns the reply to a request, which is repeated until it is answered: it must be safe to repeat.

        Args:
          path: ``/step`` or ``/steps``.
          headers: Those of the request; who asks and what the client is are added.
          body: Sent as it is.
          route: Where to send it; changed to the game port where the direct way fails.
          backoff: Waits between tries; None for new ones.

        Raises:
          StepFailedError: The service refused it, or was overloaded until the time limit.
          ServiceUnreachableError: The connection was lost and not won back within the time limit.
          ClientClosedError: The client was closed.
        """
        route, backoff = route or self._main_route, backoff or self.backoff()
        failure: ClientError | None = None
        while True:
            outcome = await self._try(route, path, headers, body, backoff)
            if isinstance(outcome, Reply):
                self.policy_version = outcome.headers.get("policy_version", self.policy_version)
                self.counts.requests += 1
                return outcome
            if failure is None or not outcome.cut_short:
                failure = outcome.failure
            if not await backoff.wait(outcome.wait_s):
                raise failure
            self.counts.retries += 1

    async def close(self) -> None:
        """Closes the connections; what is under way fails."""
        self._closed = True
        await self._pools.close()

    async def _post_steps(self, items: Sequence[StepItem], backoff: Backoff) -> list[StepAnswer]:
        body, encoding = deflate(encode(items), self._compression)
        headers = self._json_headers if encoding is None else {**self._json_headers, "content-encoding": encoding}
        reply = await self.post("/steps", headers, body, backoff=backoff)
        answers = decode_answers(reply.body, len(items))
        if (version := reply.headers.get("policy_version")) is not None:  # All answers have the same.
            for item, answer in zip(items, answers, strict=True):
                if item["kind"] == TICK:
                    answer.setdefault("policy_version", version)
        self.policy_version = version_of(answers) or self.policy_version
        return answers

    async def _try(
        self, route: Route, path: str, headers: Mapping[str, str], body: bytes, backoff: Backoff
    ) -> "Reply | _TryAgain":
        """Returns a good reply, or why and when to try again.

        Raises:
          StepFailedError: A retry cannot help.
          ClientClosedError: The client was closed.
        """
        if self._closed:
            raise ClientClosedError(f"the client of {self.url} is closed")
        timeout_s = min(self._limits.request_s, max(backoff.left_s(), self._limits.first_wait_s))
        own = {} if self._signer is None else self._signer.headers(headers.get("session", ""))
        pool = self._pools.of(route)
        target = path if route.endpoint else self._prefix + path
        begun_s = asyncio.get_running_loop().time()
        try:
            reply = await pool.request("POST", target, {**self._headers, **own, **headers}, body, timeout_s)
        except (ConnectionLostError, TooManyInFlightError) as error:
            route.endpoint = None
            failure = ServiceUnreachableError(f"{self.url} gave no answer: {error}")
            failure.__cause__ = error
            waited_s = asyncio.get_running_loop().time() - begun_s
            return _TryAgain(failure, 0.0, cut_short=timeout_s <= waited_s < self._limits.request_s)
        reply = _inflated(reply)
        if reply.status == OK:
            return reply
        if reply.status not in RETRIED_STATUSES:
            raise step_failure(reply)
        if reply.status == DRAINING_STATUS:
            route.endpoint = None
        return _TryAgain(step_failure(reply), retry_after_s(reply))


class _TryAgain(NamedTuple):
    """Why a try brought no answer, and how long the service asks to wait."""

    failure: ClientError
    wait_s: float
    cut_short: bool = False
    """Whether the time limit of all tries has ended it: what the tries before it met says more."""


def _inflated(reply: Reply) -> Reply:
    encoding = reply.headers.get("content-encoding")
    if encoding is None:
        return reply
    try:
        return replace(reply, body=inflate(reply.body, encoding, MAX_BODY_BYTES))
    except StepError as error:
        raise UnreadableReplyError("bad_reply", str(error), reply.status) from error
