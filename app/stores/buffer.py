"""A buffer shard: trajectories in, batches out against credits."""

import asyncio
import contextlib
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from app.models.spec import ModelSpec
from app.replay.credits import Credits
from app.replay.fifo import Fifo, check_ended
from app.replay.repeats import Repeats
from app.replay.rows import empty_batch
from app.stores.host import StoreHandle
from app.types import Rows

if TYPE_CHECKING:
    import ray

PUSHES_REMEMBERED: Final = 10_000
"""Newest pushes whose repetition is recognised."""
TAKE_WAIT_S: Final = 20.0
"""Longest wait of one ``take``; then the worker asks again."""
TAKE_TIMEOUT_S: Final = 60.0
"""Time after which a ``take`` without any answer means that the buffer's process is gone."""


@dataclass(frozen=True, slots=True)
class BufferSettings:
    """How one buffer hands out batches."""

    batch_rows: int
    workers: int
    """Learner workers; a batch is handed out only when each of them gets one."""
    capacity_rows: int
    credits_batches: int
    heartbeat_s: float


@dataclass(frozen=True, slots=True)
class BufferStats:
    """What a buffer did since its start, in rows."""

    inserted: int
    popped: int
    dropped: int
    held: int
    repeated_pushes: int
    repeated_rows: int
    """Rows of trajectories that were taken already, from games restored after a crash."""
    under_way: int
    """Batches handed out and not yet released."""


class BufferStore:
    """Makes rounds: one batch for every worker, or an empty one for every worker when nothing comes.

    A round is made only when there are rows for all, so no worker enters a collective while another starves, and
    all workers see the same kind of batch in the same order.
    """

    def __init__(self, spec: ModelSpec, settings: BufferSettings) -> None:
        self._spec = spec
        self._settings = settings
        self._fifo = Fifo(settings.capacity_rows, settings.batch_rows * settings.workers)
        self._credits = Credits(settings.credits_batches)
        self._ready: list[deque[tuple[int, Rows]]] = [deque() for _ in range(settings.workers)]
        self._next_batch = 0
        self._rounds = 0
        """Rounds of the present group."""
        self._group = ""
        """The learner workers that started together; a restart is a new group."""
        self._first_batch = 0
        """First batch of the present group."""
        self._joined: set[int] = set()
        self._seen: OrderedDict[tuple[str, int], None] = OrderedDict()
        self._repeated = 0
        self._repeats = Repeats()
        self._repeated_rows = 0
        self._changed = asyncio.Condition()
        self._closed = False

    async def start(self) -> None:
        """Does nothing: a buffer has no work of its own."""

    async def push(self, sender: str, number: int, rows: Rows) -> None:
        """Takes trajectories; a push that was taken already, by sender and number, is dropped and counted.

        Raises:
          ValueError: The rows do not end in a bootstrap row.
        """
        async with self._changed:
            if (sender, number) in self._seen:
                self._repeated += 1
                return
            check_ended(rows)
            fresh, repeated = self._repeats.without(rows)
            self._repeated_rows += repeated
            self._fifo.insert(fresh)
            self._seen[sender, number] = None
            if len(self._seen) > PUSHES_REMEMBERED:
                self._seen.popitem(last=False)
            self._changed.notify_all()

    async def open(self, rank: int, group: str) -> None:
        """Joins a worker to its group; the first of a new group ends the old group's streams and credits."""
        async with self._changed:
            if group != self._group:
                self._group, self._joined, self._closed, self._rounds = group, set(), False, 0
                self._first_batch = self._next_batch
                for ready in self._ready:
                    ready.clear()
            self._joined.add(rank)
            self._credits.open(rank)
            self._changed.notify_all()

    async def take(self, rank: int, group: str) -> Rows | None:
        """Returns the worker's next batch, an empty mapping where none was due for a while, None at the end."""
        async with self._changed:
            try:
                async with asyncio.timeout(TAKE_WAIT_S):
                    await self._changed.wait_for(lambda: self._over(rank, group) or self._may_take(rank))
                    if not self._over(rank, group) and not self._ready[rank]:
                        await self._make_round(rank, group)
            except TimeoutError:
                return {}
            if self._over(rank, group):
                return None
            batch_id, rows = self._ready[rank].popleft()
            self._credits.take(rank, batch_id)
        return rows | {"batch": np.full(self._settings.batch_rows, batch_id, np.int64)}

    async def release(self, rank: int, batch_id: int) -> bool:
        """Gives the credit of a batch back; returns whether it was still out."""
        async with self._changed:
            released = self._credits.release(rank, batch_id)
            self._changed.notify_all()
        return released

    async def close(self) -> None:
        """Ends all streams after the batches that are under way."""
        async with self._changed:
            self._closed = True
            self._changed.notify_all()

    async def finish(self, batch_id: int) -> None:
        """Ends all streams like ``close``, unless the batch is of an older group, whose streams are over already."""
        if batch_id >= self._first_batch:
            await self.close()

    async def stats(self) -> BufferStats:
        """Returns what this buffer did."""
        counts = self._fifo.counts
        under_way = sum(self._credits.under_way(rank) for rank in range(self._settings.workers))
        return BufferStats(
            inserted=counts.inserted,
            popped=counts.popped,
            dropped=counts.dropped,
            held=len(self._fifo),
            repeated_pushes=self._repeated,
            repeated_rows=self._repeated_rows,
            under_way=under_way,
        )

    def _may_take(self, rank: int) -> bool:
        return len(self._joined) == self._settings.workers and self._credits.available(rank)

    def _over(self, rank: int, group: str) -> bool:
        return group != self._group or (self._closed and not self._ready[rank])

    async def _make_round(self, rank: int, group: str) -> None:
        """Waits for rows for all workers, or until a heartbeat is due, and deals out one batch each."""
        size, workers = self._settings.batch_rows, self._settings.workers
        # The first round is empty: it carries no rows, but it shows that the stream is up.
        wait_s = self._settings.heartbeat_s if self._rounds else 0.0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._changed.wait_for(
                    lambda: len(self._fifo) >= size * workers or self._over(rank, group) or bool(self._ready[rank])
                )
        if self._over(rank, group) or self._ready[rank]:
            return
        full = self._rounds > 0 and len(self._fifo) >= size * workers
        for ready in self._ready:
            rows = self._fifo.pop(size) if full else None
            ready.append((self._next_batch, empty_batch(self._spec, size) if rows is None else rows))
        self._rounds += 1
        self._next_batch += 1
        self._changed.notify_all()


class Buffer:
    """What replicas and learner workers ask of a buffer."""

    def __init__(self, handle: StoreHandle) -> None:
        self._handle = handle

    def push(self, sender: str, number: int, rows: Rows) -> "ray.ObjectRef[Any]":
        """Sends trajectories; wait for the reference before the next push."""
        return self._handle.call("push", sender, number, rows)

    def open(self, rank: int, group: str) -> None:
        """Joins a worker to its group."""
        self._handle.get("open", rank, group)

    def take(self, rank: int, group: str) -> Rows | None:
        """Returns the worker's next batch; an empty mapping where none was due for a while, None at the end."""
        return cast("Rows | None", self._handle.get("take", rank, group, timeout_s=TAKE_TIMEOUT_S))

    def release(self, rank: int, batch_id: int) -> "ray.ObjectRef[Any]":
        """Gives the credit of a batch back."""
        return self._handle.call("release", rank, batch_id)

    def close(self) -> None:
        """Ends all streams."""
        self._handle.get("close")

    def finish(self, batch_id: int) -> None:
        """Ends all streams if the batch is of the workers that take now."""
        self._handle.get("finish", batch_id)

    def stats(self) -> BufferStats:
        """Returns what the buffer did."""
        return cast("BufferStats", self._handle.get("stats"))
