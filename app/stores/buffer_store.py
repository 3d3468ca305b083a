"""The first shard of a buffer, which also deals the batches of all shards."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from app.models.spec import ModelSpec
from app.replay.supply import joined, padding
from app.stores.buffer_settings import BufferSettings, batch_layout
from app.stores.dealer import EMPTY, Dealer, NoBatch, Ticket
from app.stores.host import StoreHandle
from app.stores.links import OwnShard, RemoteShard, write_table
from app.stores.shard import ShardStore
from app.stores.table_folder import Write, write_tables
from app.types import Rows

EMPTY_ROUND: Final = "empty_round"
"""Column that is true where a round has rows for no worker."""


class BufferStore(ShardStore):
    """Hands the batches of its own shard out itself, and tickets for those of others and for large ones."""

    def __init__(
        self,
        spec: ModelSpec,
        settings: BufferSettings,
        others: Sequence[StoreHandle] = (),
    ) -> None:
        """Makes an empty buffer.

        Args:
          spec: Shapes of the model whose games fill it.
          settings: How it holds rows and deals out batches.
          others: The shards of other processes.

        Raises:
          ValueError: The settings contradict each other.
        """
        super().__init__(spec, settings)
        self._layout = batch_layout(spec, settings)
        remote = [RemoteShard(handle, self._changed) for handle in others]
        self._dealer = Dealer(
            [OwnShard(self), *remote],
            settings.workers,
            settings.credits_batches,
            settings.heartbeat_s,
            self._changed,
            together=self._layout.ticketed,
        )
        self._work: list[Callable[[], Coroutine[Any, Any, None]]] = [
            self._dealer.run,
            *(shard.follow for shard in remote),
        ]
        self._working: list[asyncio.Task[None]] = []
        self._writers: list[Write] = [self.write_table, *(partial(write_table, handle) for handle in others)]
        self._saving = asyncio.Lock()

    async def start(self) -> None:
        """Begins to deal."""
        self._working = [asyncio.create_task(work()) for work in self._work]

    async def open(self, rank: int, group: str, ranks: int | None = None) -> None:
        """Joins a worker to its group of so many; the first of a new group ends the old group's streams and credits."""
        await self._dealer.open(rank, group, ranks)

    async def take(self, rank: int, group: str) -> Rows | list[Ticket] | None:
        """Returns the worker's next batch, or tickets for those that it gets now.

        An empty mapping says that none was due for a while, None that the stream has ended.
        """
        for task in self._working:
            if task.done():  # It ends by an error alone.
                task.result()
        taken = await self._dealer.take(rank, group)
        if isinstance(taken, NoBatch):
            return {} if taken is NoBatch.IDLE else None
        first = taken[0]
        if self._layout.ticketed or first.shard > 0:
            return taken
        if first.shard == EMPTY:
            return numbered(padding(self._layout.columns, self._layout.rows), first.batch, empty=True)
        self._dealer.fetched(rank, first.batch)
        return numbered(joined(self._kept.pop(first.number)), first.batch)

    async def release(self, rank: int, batch: int) -> bool:
        """Gives the credit of a batch back; returns whether it was still out."""
        return await self._dealer.release(rank, batch)

    async def close(self) -> None:
        """Ends all streams after the batches that were dealt."""
        self._dealer.close()

    async def finish(self, batch: int) -> None:
        """Ends all streams like ``close``, unless the batch is of an older group, whose streams are over already."""
        self._dealer.finish(batch)

    async def save_tables(self, target: Path) -> None:
        """Writes the tables of all shards into a folder, one save after another.

        Raises:
          CheckpointError: One cannot be written; what was saved before is as it was.
        """
        async with self._saving:
            await write_tables(target, self._writers)

    async def under_way(self) -> int:
        """Returns the batches that were taken and not released."""
        return self._dealer.under_way()


def numbered(rows: Rows, batch: int, *, empty: bool = False) -> Rows:
    """Returns a batch with its number in each row, and whether its round is empty: for all workers alike.

    A batch without rows to learn from does not show that: it may be gone with its shard while others have theirs.
    """
    count = len(next(iter(rows.values())))
    return rows | {"batch": np.full(count, batch, np.int64), EMPTY_ROUND: np.full(count, empty)}
