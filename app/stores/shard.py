"""One shard of a buffer: trajectories in, batches out as they are asked for."""

import asyncio
import contextlib
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.errors import CheckpointError
from app.metrics import names
from app.metrics.registry import Registry
from app.models.spec import ModelSpec
from app.replay.ancestry import NO_ANCESTRY, Ancestry
from app.replay.fifo_supply import FifoSupply
from app.replay.repeats import Repeats
from app.replay.rows import check_columns, row_dtypes
from app.replay.sample import Keys
from app.replay.supply import Parts, SupplyStats
from app.replay.table_supply import TableSupply
from app.stores.buffer_settings import BufferSettings
from app.stores.signal import Signal
from app.stores.supplies import make_supply
from app.stores.table_keeper import Restored, TableKeeper, make_keeper
from app.types import Rows, Version

PUSHES_REMEMBERED: Final = 10_000
"""Newest pushes whose repetition is recognised."""
REPORT_S: Final = 1.0
"""Longest wait of one question for the number of batches."""


@dataclass(frozen=True, slots=True)
class ShardStats:
    """What a shard did since its start, in rows."""

    supply: SupplyStats
    repeated_pushes: int
    repeated_rows: int
    """Rows of trajectories that were taken already, from games restored after a crash."""
    refused_pushes: int
    refused_rows: int
    """Each as often as it was refused."""
    ignored_priorities: int
    """Priorities of items that had left."""


class ShardStore:
    """Holds rows in a queue or a table, drops repetitions, and keeps drawn batches until they are dropped.

    A drawn batch stays in the pieces that it consists of; they are joined by whoever learns from them.
    """

    def __init__(self, spec: ModelSpec, settings: BufferSettings, shard: int = 0) -> None:
        """Makes an empty shard.

        Raises:
          ValueError: The settings contradict each other.
        """
        self._supply = make_supply(spec, settings, shard)
        self._settings = settings
        self._columns = row_dtypes(spec)
        self._keeper: TableKeeper | None = None
        if isinstance(self._supply, TableSupply):
            self._keeper = make_keeper(self._supply, spec, settings, shard)
        self._kept: dict[int, Parts] = {}
        """Batches that were drawn, by number."""
        self._seen: OrderedDict[tuple[str, int], None] = OrderedDict()
        self._repeats = Repeats()
        self._repeated = self._repeated_rows = self._refused = self._refused_rows = self._ignored = 0
        self._changed = Signal()

    async def start(self) -> None:
        """Does nothing: a shard has no work of its own."""

    async def push(self, sender: str, number: int, rows: Rows) -> bool:
        """Takes trajectories and returns whether they were; False asks for the same push again, later.

        A push that was taken already, by sender and number, is dropped and counted.

        Raises:
          ValueError: The rows have other columns than the model's, or do not end in a bootstrap row.
        """
        check_columns(rows, self._columns)
        if (sender, number) in self._seen:
            self._repeated += 1
            return True
        fresh = self._repeats.without(rows)
        if not self._supply.insert(fresh.rows):
            self._refused += 1
            self._refused_rows += len(rows["kind"])
            return False
        self._repeats.note(fresh)
        self._repeated_rows += fresh.repeated_rows
        self._seen[sender, number] = None
        if len(self._seen) > PUSHES_REMEMBERED:
            self._seen.popitem(last=False)
        self._changed.set()
        return True

    async def claim(self, claimer: str, version: Version) -> int:
        """Returns how many rows of a version a replica is to play, where games wait for the trainer.

        Raises:
          TypeError: They do not.
        """
        return self._queue().claim(claimer, version, time.monotonic())

    async def renew(self, claimer: str, version: Version) -> None:
        """Notes that a replica still plays what it was asked for.

        Raises:
          TypeError: Games do not wait for the trainer.
        """
        self._queue().renew(claimer, version, time.monotonic())

    def batches(self) -> int:
        """Returns how many batches could be drawn now, up to one for each worker."""
        return self._supply.batches(self._settings.workers)

    async def ready(self, known: int) -> int:
        """Returns how many batches could be drawn, once they are not ``known``, or after a while."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(REPORT_S):
                await self._changed.until(lambda: self.batches() != known)
        return self.batches()

    async def draw(self, number: int) -> bool:
        """Draws a batch and keeps it under a number; returns False where there is none."""
        parts = self._supply.draw()
        if parts is None:
            return False
        self._kept[number] = parts
        self._changed.set()
        return True

    async def fetch(self, numbers: list[int]) -> list[Parts | None]:
        """Returns the pieces of batches that were drawn; None for one that is gone."""
        return [self._kept.get(number) for number in numbers]

    async def drop(self, numbers: list[int]) -> None:
        """Forgets batches that were drawn."""
        for number in numbers:
            self._kept.pop(number, None)

    async def update_priorities(
        self, slots: NDArray[np.int64], numbers: NDArray[np.int64], priorities: NDArray[np.float64]
    ) -> int:
        """Gives items of a table new priorities; returns how many were ignored because the items had left.

        Raises:
          ValueError: A priority is negative or not finite.
        """
        keys = Keys(slots.astype(np.intp), numbers)
        ignored = self._supply.update_priorities(keys, priorities.astype(np.float64))
        self._ignored += ignored
        return ignored

    async def advance(self, newest: Version, ancestry: Ancestry = NO_ANCESTRY) -> int:
        """Notes the newest version; returns how many items left because it made them too old."""
        removed = self._supply.advance(newest, ancestry)
        self._changed.set()
        return removed

    async def shard_stats(self) -> ShardStats:
        """Returns what this shard did."""
        return ShardStats(
            self._supply.stats(),
            self._repeated,
            self._repeated_rows,
            self._refused,
            self._refused_rows,
            self._ignored,
        )

    def take_stock(self, registry: Registry, process: str) -> None:
        """Takes down what this shard holds, and what became of rows; see ``Measured``."""
        _, buffer, shard = (*process.split("."), "0")[:3]
        stats, labels = self._supply.stats(), {"buffer": buffer, "shard": shard}
        registry.series(names.BUFFER_ROWS, **labels).add(stats.held)
        registry.series(names.BUFFER_INSERTED, **labels).rise_to(stats.inserted)
        registry.series(names.BUFFER_SAMPLED, **labels).rise_to(stats.popped)
        registry.series(names.BUFFER_DROPPED, **labels).rise_to(stats.dropped)
        registry.series(names.BUFFER_REPEATED, **labels).rise_to(self._repeated_rows)

    async def write_table(self, path: Path) -> None:
        """Writes the table into a file.

        Raises:
          CheckpointError: It cannot be written, or there is no table.
        """
        if self._keeper is None:
            raise CheckpointError(f"{path} cannot be written: the buffer has no table")
        await self._keeper.write(path)

    async def restore_table(self, path: Path) -> Restored:
        """Takes over the table in a file, unless the own one is in use."""
        if self._keeper is None:
            return Restored(refused="the buffer has no table")
        restored = await self._keeper.restore(path)
        self._changed.set()
        return restored

    def _queue(self) -> FifoSupply:
        if not isinstance(self._supply, FifoSupply):
            raise TypeError("the rows of a table are of many versions: none of them are missing")
        return self._supply
