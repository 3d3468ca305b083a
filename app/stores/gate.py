"""Keeps the learner workers that read a source in step, though each reads its own part of it."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from app.config.base import Process
from app.errors import SourceError
from app.replay.credits import Credits
from app.sources.position import BEGIN, Place
from app.stores.host import BRIEF_S, StoreHandle, open_host

if TYPE_CHECKING:
    import ray

WAIT_S: Final = 20.0
"""Longest wait of one ``admit``; then the reader asks again."""
ANSWER_S: Final = 60.0
"""Time after which an ``admit`` without any answer means that the gate's process is gone."""


class Opened(NamedTuple):
    """Where a stream begins."""

    place: Place
    first_batch: int
    """Id of its first batch; later ones count on."""


@dataclass(frozen=True, slots=True)
class GateStats:
    """What the gate did since its start."""

    batches: int
    """Handed out, over all workers."""
    under_way: int
    """Handed out and not yet released."""


class GateStore:
    """Admits the n-th batch of a worker when every worker has an n-th batch, and against a credit.

    So all workers get equally many: the first one whose part is at its end ends the streams of all, and so does a
    close, behind the last batch that was admitted to any.
    """

    def __init__(self) -> None:
        self._begins: dict[int, Place] = {}
        self._group = ""
        self._ranks = 1
        self._credits = Credits(1)
        self._offered: dict[int, int] = {}
        """Batches of the group that each worker has had ready."""
        self._admitted: dict[int, int] = {}
        """Batches of the group that each worker was let have."""
        self._most: int | None = None
        """Batches of the group that each worker may have; None while no end is known."""
        self._first_batch = 0
        self._batches = 0
        self._changed = asyncio.Condition()

    async def start(self) -> None:
        """Does nothing: a gate has no work of its own."""

    async def begin(self, rank: int, place: Place) -> None:
        """Says where the next stream of a worker begins."""
        self._begins[rank] = place

    async def open(self, rank: int, group: str, ranks: int, credits_batches: int) -> Opened:
        """Joins a worker's stream to its group; the first of a new group ends the streams of the old one."""
        async with self._changed:
            if group != self._group:
                self._first_batch += max(self._admitted.values(), default=0)
                self._group, self._ranks, self._most = group, ranks, None
                self._credits, self._offered, self._admitted = Credits(credits_batches), {}, {}
                self._changed.notify_all()
            self._credits.open(rank)
            self._offered[rank] = self._admitted[rank] = 0
            return Opened(self._begins.get(rank, BEGIN), self._first_batch)

    async def admit(self, rank: int, group: str, number: int) -> bool | None:
        """Returns whether a worker may have its batch of that number; None: not yet, ask again.

        Args:
          rank: The worker.
          group: Its group.
          number: Batches of the group that it had before.

        Raises:
          SourceError: The gate has restarted, and knows of no worker.
        """
        if not self._group:
            raise SourceError(
                "the process that keeps the workers of a source in step has restarted; train with --resume"
            )
        async with self._changed:
            if group == self._group:
                self._offered[rank] = max(self._offered[rank], number + 1)
                self._changed.notify_all()
            try:
                async with asyncio.timeout(WAIT_S):
                    await self._changed.wait_for(lambda: self._over(group, number) or self._may_have(rank, number))
            except TimeoutError:
                return None
            if self._over(group, number):
                return False
            self._credits.take(rank, self._first_batch + number)
            self._admitted[rank] = number + 1
            self._batches += 1
            return True

    async def exhaust(self, rank: int, group: str) -> None:
        """Says that a worker has no more batches than those it has offered."""
        async with self._changed:
            if group == self._group:
                self._end_after(self._offered[rank])

    async def release(self, rank: int, batch_id: int) -> bool:
        """Gives the credit of a batch back; returns whether it was still out."""
        async with self._changed:
            released = self._credits.release(rank, batch_id)
            self._changed.notify_all()
        return released

    async def close(self) -> None:
        """Ends all streams behind the last batch that any worker was let have."""
        async with self._changed:
            self._end_after(max(self._admitted.values(), default=0))

    async def finish(self, batch_id: int) -> None:
        """Ends all streams like ``close``, unless the batch is of an older group, whose streams are over already."""
        if batch_id >= self._first_batch:
            await self.close()

    async def stats(self) -> GateStats:
        """Returns what the gate did."""
        return GateStats(self._batches, sum(self._credits.under_way(rank) for rank in self._offered))

    def _may_have(self, rank: int, number: int) -> bool:
        all_ready = len(self._offered) == self._ranks and all(count > number for count in self._offered.values())
        return all_ready and self._credits.available(rank)

    def _over(self, group: str, number: int) -> bool:
        return group != self._group or (self._most is not None and number >= self._most)

    def _end_after(self, batches: int) -> None:
        self._most = batches if self._most is None else min(self._most, batches)
        self._changed.notify_all()


class Gate:
    """What readers and learner workers ask of a gate."""

    def __init__(self, handle: StoreHandle) -> None:
        self._handle = handle

    def begin(self, rank: int, place: Place) -> None:
        """Says where the next stream of a worker begins."""
        self._handle.get("begin", rank, place)

    def open(self, rank: int, group: str, ranks: int, credits_batches: int) -> Opened:
        """Joins a worker's stream to its group."""
        return cast("Opened", self._handle.get("open", rank, group, ranks, credits_batches))

    def admit(self, rank: int, group: str, number: int) -> bool:
        """Returns whether a worker may have its batch of that number; it waits until that is known."""
        while (answer := self._handle.get("admit", rank, group, number, timeout_s=ANSWER_S)) is None:
            pass
        return bool(answer)

    def exhaust(self, rank: int, group: str) -> None:
        """Says that a worker has no more batches than those it has offered."""
        self._handle.get("exhaust", rank, group)

    def release(self, rank: int, batch_id: int) -> "ray.ObjectRef[Any]":
        """Gives the credit of a batch back."""
        return self._handle.call("release", rank, batch_id)

    def close(self) -> None:
        """Ends all streams; where they cannot be told in a moment, it is to be asked again.

        Raises:
          ray.exceptions.RayError: They were not told.
        """
        self._handle.get("close", timeout_s=BRIEF_S)

    def finish(self, batch_id: int) -> None:
        """Ends all streams if the batch is of the workers that read now."""
        self._handle.get("finish", batch_id)

    def stats(self) -> GateStats:
        """Returns what the gate did."""
        return cast("GateStats", self._handle.get("stats"))


def open_gate(namespace: str, name: str) -> Gate:
    """Returns the gate of that name, made if it does not run yet; it ends with the trial's stores."""
    return Gate(StoreHandle(open_host(namespace, f"gate.{name}", Process(), {"gate": (GateStore, {})}), "gate"))
