"""How a buffer holds rows and hands out batches, and what its batches look like."""

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from app.config.root import ExperimentConfig
from app.config.tables import TableConfig
from app.models.spec import ModelSpec
from app.replay.rows import Columns, row_dtypes
from app.replay.supply import WhenFull
from app.replay.table_supply import SAMPLE_COLUMNS
from app.seeding import derive
from app.stores.table_items import items_of

HELD_BYTES: Final = 32
"""Of an item beside its columns, in a saved table: its place, its number, its samples and its priority."""


@dataclass(frozen=True, slots=True)
class BufferSettings:
    """How one buffer holds rows and hands out batches."""

    batch_rows: int
    """Rows of a batch of one worker; items of a table."""
    workers: int
    """Learner workers; a batch is handed out only when each of them gets one."""
    capacity_rows: int
    """Rows that each shard keeps, without a table."""
    credits_batches: int
    heartbeat_s: float
    shards: int = 1
    when_full: WhenFull = WhenFull.DROP_OLDEST
    table: TableConfig | None = None
    seed: int = 0
    one_version: bool = False
    """Whether games wait for the trainer, so that a batch holds rows of one version."""
    ticket_bytes: int = 2**62
    """Bytes of a batch from which on it travels as a ticket."""

    @property
    def keep_batches(self) -> int:
        """Returns the batches that each shard keeps, whatever comes."""
        return -(-self.workers // self.shards)


@dataclass(frozen=True, slots=True)
class BatchLayout:
    """What the batches of a buffer look like, known before the first one comes."""

    columns: Columns = field(repr=False)
    """Dtype and shape of one row, or of one item of a table, in each column but ``batch``."""
    rows: int
    """Rows of a batch; items of a table."""
    ticketed: bool = False
    """Whether batches travel as tickets."""
    tickets: int = 1
    """Most tickets that travel together."""
    by_version: bool = False
    """Whether items leave as newer versions are published."""

    @property
    def bytes(self) -> int:
        """Returns the size of a batch."""
        return self.rows * _bytes(self.columns)


def buffer_settings(config: ExperimentConfig, name: str) -> BufferSettings:
    """Returns how a buffer deals out batches, from the trainer that reads it; without one it holds a single push."""
    buffer = config.buffers[name]
    readers = [(i, t) for t in config.trainers.values() for i in t.inputs if i.buffer == name]
    batch_rows, workers = (readers[0][0].batch_rows, readers[0][1].most_workers) if readers else (2, 1)
    push_rows = max((actor.push_rows for actor in config.actors.values()), default=0)
    settings = BufferSettings(
        batch_rows=batch_rows,
        workers=workers,
        capacity_rows=buffer.capacity_rows or 1,
        credits_batches=buffer.credits_batches,
        heartbeat_s=buffer.heartbeat_s,
        shards=buffer.shards,
        when_full=WhenFull(buffer.when_full),
        table=buffer.table,
        seed=derive(config.run.seed, "buffer", name),
        one_version=buffer.rollouts == "wait",
        ticket_bytes=int(buffer.ticket_mb * 2**20),
    )
    if buffer.capacity_rows is not None:
        return settings
    return replace(settings, capacity_rows=batch_rows * settings.keep_batches + 2 * push_rows)


def batch_layout(spec: ModelSpec, settings: BufferSettings) -> BatchLayout:
    """Returns what the batches of a buffer look like."""
    rows = row_dtypes(spec)
    columns = rows if settings.table is None else {**items_of(settings.table).columns(rows), **SAMPLE_COLUMNS}
    by_version = settings.table is not None and settings.table.max_age_versions is not None
    layout = BatchLayout(columns, settings.batch_rows, tickets=settings.credits_batches, by_version=by_version)
    return replace(layout, ticketed=layout.bytes >= settings.ticket_bytes)


def table_mb(spec: ModelSpec, table: TableConfig) -> float:
    """Returns the size of a full table, over all its shards."""
    return table.capacity_items * (_bytes(items_of(table).columns(row_dtypes(spec))) + HELD_BYTES) / 2**20


def _bytes(columns: Columns) -> int:
    """Returns the size of one row, or of one item."""
    return sum(dtype.itemsize * int(np.prod(shape, dtype=np.int64)) for dtype, shape in columns.values())
