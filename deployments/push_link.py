"""Sends trajectories to one shard of a buffer: one push under way at a time, bounded behind it."""

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import Callable
from typing import Final

from ray.exceptions import RayError

from app.agents.outbox import Outbox
from app.agents.unroll import Row
from app.stores.buffer import Buffer
from app.types import Rows

WAITING_PUSHES_MAX: Final = 8
"""Pushes' worth of rows that may wait behind one that does not return; newer trajectories are dropped and counted."""
ATTEMPTS: Final = 3
"""Times that one push is sent; the buffer recognises a repetition."""
PUSH_TIMEOUT_S: Final = 10.0
"""Longest wait for one push."""

_log = logging.getLogger(__name__)


class PushLink:
    """What waits for one shard, and the push that is on its way there."""

    def __init__(
        self,
        buffer: Buffer,
        shard: int,
        outbox: Callable[[Callable[[], None]], Outbox],
        push_rows: int,
        push_s: float,
        counts: Counter[str],
        passed: Callable[[Rows], Rows],
    ) -> None:
        self._buffer, self._shard, self._counts = buffer, shard, counts
        self._push_s, self._passed = push_s, passed
        self._max_rows = push_rows * WAITING_PUSHES_MAX
        self._full = asyncio.Event()
        self._outbox = outbox(self._full.set)
        self._sender = secrets.token_hex(8)
        self._number = 0
        self._sending = asyncio.Lock()
        self._unsettled: Rows | None = None
        """The newest push while it is not known to have come: it is sent again before any other."""

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
            if not await self._send_next():
                await asyncio.sleep(self._push_s)

    async def flush(self) -> None:
        """Sends what waits, as far as the shard takes it, and returns when it is there."""
        while await self._send_next() and len(self._outbox):
            pass

    async def _send_next(self) -> bool:
        """Sends what did not come before, or else what waits; returns False where the shard refuses it for now.

        A push that is under way is waited for first.
        """
        async with self._sending:
            return await self._send_one()

    async def _send_one(self) -> bool:
        if self._unsettled is None:
            if not len(self._outbox):
                return True
            rows = self._passed(self._outbox.take())
            if not len(rows["kind"]):
                return True
            self._unsettled = rows
            self._number += 1
        if not await self._send(self._unsettled):
            return False
        self._unsettled = None
        return True

    async def _send(self, rows: Rows) -> bool:
        """Sends rows, and counts those that are lost; returns False where the shard refuses them for now."""
        size = len(rows["kind"])
        for _ in range(ATTEMPTS):
            try:
                async with asyncio.timeout(PUSH_TIMEOUT_S):
                    taken = await self._buffer.push(self._sender, self._number, rows, self._shard)
            except (RayError, TimeoutError) as error:
                _log.warning("a push of %d rows failed, sending it again: %s", size, error)
            else:
                self._counts["rows_pushed" if taken else "pushes_refused"] += size if taken else 1
                return bool(taken)
        self._counts["rows_dropped_unsent"] += size
        return True
