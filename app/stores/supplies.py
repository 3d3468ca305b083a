"""Makes of a buffer's config what its shards hold their rows in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.config.tables import (
    MinSizeLimit,
    NewestFirstSampling,
    OldestFirstSampling,
    PrioritizedSampling,
    QueueLimit,
    TableConfig,
)
from app.models.spec import ModelSpec
from app.replay.fifo_supply import FifoSupply
from app.replay.limiter import Limiter
from app.replay.limiters import MinSize, Queue, SamplesPerInsert
from app.replay.max_age import MaxAge
from app.replay.removers import RemoveLowestPriority, RemoveOldest, RemoveUniform
from app.replay.rows import row_dtypes
from app.replay.samplers import NewestFirst, OldestFirst, Prioritized, UniformSampler
from app.replay.selectors import Remover, Sampler
from app.replay.supply import Supply
from app.replay.table import Table, check_table
from app.replay.table_supply import TableSupply
from app.seeding import derive
from app.stores.buffer_settings import BufferSettings
from app.stores.table_items import items_of

_REMOVERS: Final[dict[str, Callable[[], Remover]]] = {
    "oldest": RemoveOldest,
    "uniform": RemoveUniform,
    "lowest_priority": RemoveLowestPriority,
}


def make_supply(spec: ModelSpec, settings: BufferSettings, shard: int) -> Supply:
    """Returns what one shard holds its rows in.

    Raises:
      ValueError: The numbers contradict each other.
    """
    table = settings.table
    if table is None:
        return _queue(settings)
    items, parts = items_of(table), _parts(table, settings)
    rng = np.random.default_rng(derive(settings.seed, "shard", shard))
    made = Table(
        items.columns(row_dtypes(spec)),
        parts.capacity_items,
        sampler=parts.sampler,
        remover=_REMOVERS[table.remover](),
        limiter=parts.limiter,
        largest_sample_rows=parts.largest_sample_items,
        rng=rng,
        max_reuse=table.max_reuse,
        max_age=parts.max_age,
    )
    beta = table.sampler.beta if isinstance(table.sampler, PrioritizedSampling) else None
    return TableSupply(
        made, items.cut, settings.batch_rows, rng=rng, when_full=settings.when_full, beta=beta, shard=shard
    )


def check_supply(settings: BufferSettings) -> None:
    """Checks what a shard would hold its rows in, without making it.

    Raises:
      ValueError: The numbers contradict each other; it would wait for ever.
    """
    table = settings.table
    if table is None:
        _queue(settings)
        return
    items_of(table)
    parts = _parts(table, settings)
    check_table(
        parts.capacity_items,
        parts.sampler,
        parts.limiter,
        parts.largest_sample_items,
        table.max_reuse,
        parts.max_age,
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """What the table of one shard is made of."""

    capacity_items: int
    sampler: Sampler
    limiter: Limiter
    largest_sample_items: int
    max_age: MaxAge | None


def _queue(settings: BufferSettings) -> FifoSupply:
    kept = settings.batch_rows * settings.keep_batches
    return FifoSupply(
        settings.batch_rows,
        kept,
        settings.capacity_rows,
        settings.when_full,
        one_version=settings.one_version,
    )


def _parts(table: TableConfig, settings: BufferSettings) -> _Parts:
    """Returns the parts of one shard's table, which has its share of all numbers.

    Its largest sample is a batch for every worker: it may be the only shard that any actor replica sends to.
    """
    capacity = table.capacity_items // settings.shards
    max_age = None
    if table.max_age_items is not None or table.max_age_versions is not None:
        inserts = None if table.max_age_items is None else -(-table.max_age_items // settings.shards)
        max_age = MaxAge(inserts, table.max_age_versions)
    largest = settings.batch_rows * settings.workers
    return _Parts(capacity, _sampler(table), _limiter(table, capacity, settings.shards), largest, max_age)


def _sampler(table: TableConfig) -> Sampler:
    match table.sampler:
        case OldestFirstSampling():
            return OldestFirst()
        case NewestFirstSampling():
            return NewestFirst()
        case PrioritizedSampling(exponent=exponent, epsilon=epsilon):
            return Prioritized(exponent, epsilon)
        case _:
            return UniformSampler()


def _limiter(table: TableConfig, capacity_items: int, shards: int) -> Limiter:
    limit = table.limiter
    if isinstance(limit, QueueLimit):
        return Queue(capacity_items)
    share = -(-limit.min_size_items // shards)
    if isinstance(limit, MinSizeLimit):
        return MinSize(share)
    return SamplesPerInsert(limit.samples_per_insert, share, limit.error_buffer_items / shards)
