"""Sends an actor replica's trajectories to their buffer: one push under way at a time, bounded behind it."""

import asyncio
import logging
import secrets
from collections import Counter

from ray.exceptions import RayError

from app.agents.outbox import Outbox
from app.agents.unroll import Row
from app.models.spec import ModelSpec
from app.stores.buffer import Buffer

WAITING_PUSHES_MAX = 8
"""Pushes' worth of rows that may wait behind one that does not return; newer trajectories are dropped and counted."""
ATTEMPTS = 3
"""Times that one push is sent; the buffer recognises a repetition."""
PUSH_TIMEOUT_S = 10.0
"""Longest wait for one push."""

_log = logging.getLogger(__name__)


class Pusher:
    """Collects rows and sends them when there are enough, or after a while."""

    def __init__(self, buffer: Buffer, spec: ModelSpec, push_rows: int, push_s: float, counts: Counter[str]) -> None:
        self._buffer = buffer
        self._counts = counts
        self._push_s = push_s
        self._max_rows = push_rows * WAITING_PUSHES_MAX
        self._full = asyncio.Event()
        self._outbox = Outbox(spec, push_rows, self._full.set)
        self._sender = secrets.token_hex(8)
        self._number = 0

    def add(self, trajectory: list[Row]) -> None:
        """Takes a trajectory; never waits."""
        if len(self._outbox) >= self._max_rows:
            self._counts["rows_dropped_unsent"] += len(trajectory)
            return
        self._outbox.add(trajectory)

    async def run(self) -> None:
        """Sends for as long as it runs."""
        while True:
            try:
                async with asyncio.timeout(self._push_s):
                    await self._full.wait()
            except TimeoutError:
                pass
            self._full.clear()
            await self.flush()

    async def flush(self) -> None:
        """Sends what waits."""
        if not len(self._outbox):
            return
        rows = self._outbox.take()
        self._number += 1
        for _ in range(ATTEMPTS):
            try:
                async with asyncio.timeout(PUSH_TIMEOUT_S):
                    await self._buffer.push(self._sender, self._number, rows)
            except (RayError, TimeoutError) as error:
                _log.warning("a push of %d rows failed, sending it again: %s", len(rows["kind"]), error)
            else:
                self._counts["rows_pushed"] += len(rows["kind"])
                return
        self._counts["rows_dropped_unsent"] += len(rows["kind"])
