"""What all connections of a port share: who answers, the limits, the counts, and the end."""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, Protocol

from app.config.serving import ConnectionLimits
from app.errors import BadRequestError
from app.logs.failures import Failures
from app.wire.detect import MAX_FRAME_BYTES
from app.wire.frames import MAX_ENVELOPE_BYTES
from deployments.listener.partial import PartialBodies

if TYPE_CHECKING:
    from app.errors import StepError
    from app.wire.http import HttpReply, HttpRequest
    from app.wire.steps import StepReply, StepRequest
    from deployments.listener.connection import Connection

SWEEPS: Final = 4
"""Looks at all connections within the shortest time-out."""
MAX_SWEEP_S: Final = 1.0
"""Longest time between two looks."""
FAREWELL_S: Final = 1.0
"""Longest wait for peers to read their last replies and close, when the port ends."""

_log = logging.getLogger(__name__)


class StepService(Protocol):
    """Answers the steps of the protocols that know nothing else."""

    async def step(self, request: "StepRequest") -> "StepReply":
        """Returns the answer to one step, or raises a ``StepError``."""

    async def batch(self, steps: "list[StepRequest]") -> "list[StepReply | StepError]":
        """Returns the answers in the order of the steps."""


class Service(StepService, Protocol):
    """Answers HTTP requests too."""

    @property
    def answer(self) -> "Answer":
        """Answers an HTTP request, or raises a ``StepError``."""


Answer = Callable[["HttpRequest"], Awaitable["HttpReply"]]
"""Answers a request, or raises a ``StepError``."""


class HttpOnly:
    """A service that only one of the protocols reaches."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    async def step(self, request: "StepRequest") -> "StepReply":
        """Refuses the step."""
        raise BadRequestError(f"this port serves HTTP only; a {request.kind} came in another protocol")

    async def batch(self, steps: "list[StepRequest]") -> "list[StepReply | StepError]":
        """Refuses the steps."""
        raise BadRequestError(f"this port serves HTTP only; {len(steps)} steps came in another protocol")


def partial_bodies(limits: ConnectionLimits) -> PartialBodies:
    """Returns the bound that the limits set."""
    return PartialBodies(int(limits.max_partial_mb * 2**20))


class Connections:
    """All connections of a port."""

    def __init__(
        self,
        service: Service,
        max_body_bytes: int,
        limits: ConnectionLimits | None = None,
        counts: Counter[str] | None = None,
        origins: tuple[str, ...] | None = None,
        partial: PartialBodies | None = None,
    ) -> None:
        """Makes a port without connections.

        Args:
          service: Who answers.
          max_body_bytes: Largest body of a request.
          limits: Bounds of the connections; None are the config's defaults.
          counts: Where connections and what became of them are counted; None keeps counts of its own.
          origins: Web pages whose scripts may open a WebSocket; None allows any.
          partial: Counts bodies that are not whole yet, together with other ports; None counts those of this one.
        """
        self.service = service
        self.origins = origins
        self.max_body_bytes = max_body_bytes
        self.max_frame_bytes = min(max_body_bytes + MAX_ENVELOPE_BYTES, MAX_FRAME_BYTES)
        self.limits = ConnectionLimits() if limits is None else limits
        self.partial = partial_bodies(self.limits) if partial is None else partial
        self.counts: Counter[str] = Counter() if counts is None else counts
        self.failures = Failures(self.counts)
        self.loop = asyncio.get_running_loop()
        self.open: set[Connection] = set()
        """Connections that are open, or whose requests are still under way."""
        self.draining = False
        self._emptied = asyncio.Event()
        self._told: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None

    def admit(self, connection: "Connection") -> bool:
        """Takes a new connection in and returns True, or counts it as refused where there are too many."""
        if len(self.open) >= self.limits.max_connections:
            self.counts["connections_refused"] += 1
            return False
        self.open.add(connection)
        if self._timer is None:
            self._timer = self.loop.call_later(self._sweep_s(), self._sweep)
        return True

    def forget(self, connection: "Connection") -> None:
        """Lets a connection go that is over, with all that it asked for."""
        self.open.discard(connection)
        if not self.open:
            self._emptied.set()

    def tell_once(self, what: str, message: str) -> None:
        """Counts an event and logs the first of its kind."""
        self.counts[what] += 1
        if what not in self._told:
            self._told.add(what)
            _log.warning(message)

    async def drain(self, timeout_s: float) -> None:
        """Answers what is under way, at most ``timeout_s``, and closes all connections but those that must stay.

        Bray's clients reconnect at a start only: their connections stay open, and are answered, until ``finish``.
        """
        self.draining = True
        for connection in list(self.open):
            connection.drain()
        deadline_s = self.loop.time() + timeout_s
        while tasks := [task for connection in self.open if not connection.stays for task in connection.tasks()]:
            if (left_s := deadline_s - self.loop.time()) <= 0:
                break
            await asyncio.wait(tasks, timeout=left_s)
        await self._end([connection for connection in self.open if not connection.stays])

    async def until_left(self, timeout_s: float) -> int:
        """Waits until the connections that stay have been closed by their peers; returns how many have not."""
        if self.open:
            self._emptied.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._emptied.wait(), timeout_s)
        return len(self.open)

    async def finish(self, timeout_s: float) -> None:
        """Drains, then waits for the connections that stayed within the same time, and closes them too."""
        deadline_s = self.loop.time() + timeout_s
        await self.drain(timeout_s)
        tasks = [task for connection in self.open for task in connection.tasks()]
        if tasks and (left_s := deadline_s - self.loop.time()) > 0:
            await asyncio.wait(tasks, timeout=left_s)
        await self._end(list(self.open))
        await self.until_left(min(FAREWELL_S, max(0.0, deadline_s - self.loop.time())))
        for connection in list(self.open):
            connection.close()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _end(self, connections: "list[Connection]") -> None:
        """Cancels what still runs and closes the connections, but for those that wait for their peer to do so."""
        tasks = [task for connection in connections for task in connection.tasks()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in connections:
            if not connection.ending:
                connection.close()

    def _sweep_s(self) -> float:
        shortest_s = min(self.limits.header_timeout_s, self.limits.idle_timeout_s)
        return min(shortest_s / SWEEPS, MAX_SWEEP_S)

    def _sweep(self) -> None:
        """Looks at all connections; one timer serves them all."""
        now_s = self.loop.time()
        for connection in list(self.open):
            connection.sweep(now_s)
        self._timer = self.loop.call_later(self._sweep_s(), self._sweep) if self.open else None
