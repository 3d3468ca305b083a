"""What a game core says to the service: steps with sequence numbers, repeated until they are answered."""

import asyncio
import random
from collections.abc import Mapping, Sequence

from app.client.connection import ConnectionLostError, HttpConnection
from app.client.reply import Reply
from app.client.retry import Backoff, RetryLimits
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
    version_of,
)
from app.errors import SparringError
from app.types import Purpose

PROTOCOL = "1"
CONNECT_S = 5.0
READY_POLL_S = 0.05


class ServiceUnreachableError(SparringError):
    """No service answers at the URL."""


class GameClient:
    """Steps over one connection, which is opened when needed and again when lost.

    ``policy_version`` is the version that the newest reply named; None before, or where replies name none.
    """

    def __init__(
        self,
        url: str,
        purpose: Purpose,
        limits: RetryLimits | None = None,
        source: random.Random | None = None,
    ) -> None:
        self.url = url
        self.policy_version: str | None = None
        self._host, self._port, self._prefix = parse_url(url)
        self._limits = limits or RetryLimits()
        self._source = source or random.Random()  # noqa: S311  # Jitter is no secret.
        self._connection: HttpConnection | None = None
        self._connecting = asyncio.Lock()
        self._headers = {"content-type": "application/json", "protocol": PROTOCOL, "purpose": purpose.value}

    async def wait_ready(self, wait_s: float) -> None:
        """Returns once ``GET /readyz`` answers 200.

        Raises:
          ServiceUnreachableError: It has not within ``wait_s``.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_s
        while True:
            try:
                connection = await self._connected()
                reply = await connection.request("GET", f"{self._prefix}/readyz", {}, b"", CONNECT_S)
            except ConnectionLostError as error:
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
        """Returns the agent's bytes for one step.

        Raises:
          StepFailedError: The service refused the step, or was overloaded until the time limit.
          ServiceUnreachableError: The connection was lost and not won back within the time limit.
        """
        headers = {**self._headers, "session": session, "step_kind": kind, "seq": str(seq)}
        reply = await self._post("/step", headers, body, self._backoff())
        return reply.body

    async def steps(self, items: Sequence[StepItem]) -> list[StepAnswer]:
        """Returns the answers to many steps, in their order, from one request.

        Steps refused as overloaded or draining are asked again, with those behind them in the same session.

        Raises:
          StepFailedError: The request as a whole was refused, or its reply is not the contract's.
          ServiceUnreachableError: The connection was lost and not won back within the time limit.
        """
        backoff = self._backoff()
        answers = await self._post_steps(items, backoff)
        while again := steps_to_repeat(items, answers):
            await self.close()  # A draining replica takes no new games; another connection may reach another one.
            if not await backoff.wait():
                break
            repeated = await self._post_steps([items[index] for index in again], backoff)
            for index, answer in zip(again, repeated, strict=True):
                answers[index] = answer
        return answers

    async def close(self) -> None:
        """Closes the connection."""
        if self._connection is not None:
            await self._connection.close()

    def _backoff(self) -> Backoff:
        return Backoff(self._limits, self._source)

    async def _post_steps(self, items: Sequence[StepItem], backoff: Backoff) -> list[StepAnswer]:
        reply = await self._post("/steps", self._headers, encode(items), backoff)
        answers = decode_answers(reply.body, len(items))
        self.policy_version = version_of(answers) or self.policy_version
        return answers

    async def _post(self, path: str, headers: Mapping[str, str], body: bytes, backoff: Backoff) -> Reply:
        while True:
            timeout_s = min(self._limits.request_s, max(backoff.left_s(), self._limits.first_wait_s))
            try:
                connection = await self._connected()
                reply = await connection.request("POST", self._prefix + path, headers, body, timeout_s)
            except ConnectionLostError as error:
                if not await backoff.wait():
                    raise ServiceUnreachableError(f"{self.url} gave no answer: {error}") from error
                continue
            if reply.status == OK:
                self.policy_version = reply.headers.get("policy_version", self.policy_version)
                return reply
            if reply.status == DRAINING_STATUS:
                await self.close()
            if reply.status not in RETRIED_STATUSES or not await backoff.wait(retry_after_s(reply)):
                raise step_failure(reply)

    async def _connected(self) -> HttpConnection:
        if self._connection is None or not self._connection.usable:
            async with self._connecting:
                if self._connection is None or not self._connection.usable:
                    self._connection = await HttpConnection.open(self._host, self._port, timeout_s=CONNECT_S)
        return self._connection
