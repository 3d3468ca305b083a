"""Deals the batches of all shards of a buffer to learner workers, in rounds, against credits."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from app.replay.credits import Credits
from app.stores.draws import Drawn, Draws, ShardLink
from app.stores.signal import Signal

TAKE_WAIT_S: Final = 20.0
"""Longest wait of one ``take``; then the worker asks again."""
EMPTY: Final = -1
"""Shard of a batch that none has drawn: it is empty."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A batch that lies ready at a shard."""

    batch: int
    """Number of its round: all workers get the same."""
    shard: int
    """Which one holds it; -1 for an empty batch, which nobody holds."""
    number: int
    """Under which the shard keeps it."""


class NoBatch(Enum):
    """Why a worker got no batch."""

    IDLE = "idle"
    """None was due for a while: it asks again."""
    OVER = "over"
    """The stream has ended."""


class Dealer:
    """Makes rounds: one batch for every worker, or an empty one for every worker when nothing comes.

    Batches are drawn once a worker asks for one and has a credit, from whichever shards have them, and dealt when
    there is one for each: so no worker enters a collective while another starves, all workers see the same kind of
    batch in the same order, and rounds go on as long as any one shard gets rows.

    Invariant: batches drawn and not yet dealt < workers; batches dealt and not released <= credits + 1 a worker.
    """

    def __init__(
        self,
        links: Sequence[ShardLink],
        workers: int,
        credits_batches: int,
        heartbeat_s: float,
        changed: Signal,
        *,
        together: bool = False,
    ) -> None:
        """Waits for workers to open their streams.

        Args:
          links: The shards.
          workers: Learner workers, at most.
          credits_batches: Batches that may be under way to one of them.
          heartbeat_s: Seconds without a batch after which everyone gets an empty one.
          changed: Told when a link has other batches.
          together: Whether a worker takes all batches at once that it has credits for and that are there.
        """
        self._draws, self._most_workers, self._heartbeat_s = Draws(links, workers), workers, heartbeat_s
        self._credits = Credits(credits_batches)
        self._changed, self._together = changed, together
        self._least_free = max(1, credits_batches // 2) if together else 1
        """Free credits at which a round is due: a block of several tickets costs no more than one of a single one."""
        self._ready: list[deque[Ticket]] = [deque() for _ in range(workers)]
        self._out: dict[tuple[int, int], Ticket] = {}
        """Batches that a shard keeps, by rank and batch, until they are released."""
        self._asking: Counter[int] = Counter()
        """Takes under way by rank."""
        self._next_batch = 0
        self._rounds = 0
        """Rounds of the present group."""
        self._group = ""
        """The learner workers that started together; a restart is a new group."""
        self._first_batch = 0
        """First batch of the present group."""
        self._joined: set[int] = set()
        self._closed = False

    async def run(self) -> None:
        """Deals rounds for as long as it runs."""
        while True:
            await self._changed.until(self._round_wanted)
            group = self._group
            # The first round is empty: it carries no rows, but it shows that the stream is up.
            full = self._rounds > 0 and await self._collect(group)
            if not self._takes(group):
                continue
            self._deal(full=full)
            while full and self._another_at_once() and await self._collect(group):
                self._deal(full=True)
            self._changed.set()

    async def open(self, rank: int, group: str, ranks: int | None = None) -> None:
        """Joins a worker to its group; the first of a new group ends the old group's streams and credits.

        Args:
          rank: The worker.
          group: Its group.
          ranks: Workers of the group, at most those of the dealer; None means as many.
        """
        if group != self._group:
            self._draws.workers = self._most_workers if ranks is None else ranks
            self._group, self._joined, self._closed, self._rounds = group, set(), False, 0
            self._first_batch = self._next_batch
            gone = [ticket for ready in self._ready for ticket in ready] + list(self._out.values())
            for ready in self._ready:
                ready.clear()
            self._out.clear()
            await self._forget(gone)
        self._joined.add(rank)
        self._credits.open(rank)
        self._changed.set()

    async def take(self, rank: int, group: str) -> list[Ticket] | NoBatch:
        """Returns the worker's next batch, once there is one; several where they are handed out together."""
        self._asking[rank] += 1
        self._changed.set()
        try:
            async with asyncio.timeout(TAKE_WAIT_S):
                await self._changed.until(lambda: self._over(rank, group) or self._may_take(rank))
        except TimeoutError:
            return NoBatch.IDLE
        finally:
            self._asking[rank] -= 1
        if self._over(rank, group):
            return NoBatch.OVER
        taken: list[Ticket] = []
        while self._may_take(rank) and (self._together or not taken):
            ticket = self._ready[rank].popleft()
            self._credits.take(rank, ticket.batch)
            if ticket.shard != EMPTY:
                self._out[rank, ticket.batch] = ticket
            taken.append(ticket)
        self._changed.set()
        return taken

    async def release(self, rank: int, batch: int) -> bool:
        """Gives the credit of a batch back; returns whether it was still out."""
        released = self._credits.release(rank, batch)
        self._changed.set()
        ticket = self._out.pop((rank, batch), None)
        if ticket is not None:
            await self._forget([ticket])
        return released

    def fetched(self, rank: int, batch: int) -> None:
        """Notes that a batch travels with its ticket: no shard keeps it any more."""
        self._out.pop((rank, batch), None)

    def close(self) -> None:
        """Ends all streams after the batches that were dealt."""
        self._closed = True
        self._changed.set()

    def finish(self, batch: int) -> None:
        """Ends all streams like ``close``, unless the batch is of an older group, whose streams are over already."""
        if batch >= self._first_batch:
            self.close()

    def under_way(self) -> int:
        """Returns the batches that were taken and not released."""
        return sum(self._credits.under_way(rank) for rank in range(self._most_workers))

    def _takes(self, group: str) -> bool:
        """Returns whether rounds are for this group: neither is there a newer one, nor has its stream ended."""
        return group == self._group and not self._closed

    def _may_take(self, rank: int) -> bool:
        return bool(self._ready[rank]) and self._credits.available(rank)

    def _over(self, rank: int, group: str) -> bool:
        return group != self._group or (self._closed and not self._ready[rank])

    def _round_wanted(self) -> bool:
        """Returns whether a worker asks, has credits enough, and has nothing ready."""
        if self._closed or len(self._joined) < self._draws.workers:
            return False
        return any(
            count and self._credits.free(rank) >= self._least_free and not self._ready[rank]
            for rank, count in self._asking.items()
        )

    def _another_at_once(self) -> bool:
        """Returns whether there is a batch for each worker already, and each has a credit for it."""
        if not self._together or self._closed or self._draws.there < self._draws.missing:
            return False
        ranks = range(self._draws.workers)
        return all(self._credits.free(rank) > len(self._ready[rank]) for rank in ranks)

    async def _collect(self, group: str) -> bool:
        """Draws a batch for each worker; returns whether there is one for all, and the group still takes them.

        Before a heartbeat is due: then the round is an empty one.
        """
        end_s = time.monotonic() + self._heartbeat_s
        while self._takes(group) and self._draws.missing:
            if self._draws.there:
                await self._draws.draw()
                continue
            try:
                async with asyncio.timeout(end_s - time.monotonic()):
                    await self._changed.until(lambda: self._draws.there > 0 or not self._takes(group))
            except TimeoutError:
                return False
        return self._takes(group)  # Its end may have come while the last batch was drawn.

    def _deal(self, *, full: bool) -> None:
        drawn = self._draws.for_ranks() if full else [Drawn(EMPTY, 0)] * self._draws.workers
        for ready, (shard, number) in zip(self._ready[: self._draws.workers], drawn, strict=True):
            ready.append(Ticket(self._next_batch, shard, number))
        self._rounds += 1
        self._next_batch += 1

    async def _forget(self, tickets: Sequence[Ticket]) -> None:
        """Has the shards forget what tickets stand for."""
        await self._draws.forget([Drawn(ticket.shard, ticket.number) for ticket in tickets if ticket.shard != EMPTY])
