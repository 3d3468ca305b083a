"""The live, credit-gated Ray Data stream between a buffer and the learner workers."""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import ray
from numpy.typing import NDArray
from ray.data import DataContext, Dataset, Datasource
from ray.data.block import Block, BlockAccessor, BlockMetadata
from ray.data.datasource import ReadTask

from app.replay.supply import padding
from app.stores.buffer import Buffer
from app.stores.buffer_settings import BatchLayout
from app.stores.buffer_store import numbered
from train.tickets import fetched, ticket_rows

BLOCK_SHARE = 0.95
"""Target block size as a share of a batch: Ray Data ends a block at the target, and slices one of 1.5 times it."""
READ_CPUS = 0.01
"""What the read task reserves: it waits for most of its life."""


class BufferSource(Datasource):
    """One endless read task: each block is one batch, or a ticket for one, handed out against a credit."""

    def __init__(self, buffer: Buffer, layout: BatchLayout, rank: int, group: str, ranks: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._buffer, self._layout, self._rank, self._group, self._ranks = buffer, layout, rank, group, ranks

    def estimate_inmemory_data_size(self) -> int | None:
        """Returns None: the stream has no end."""
        return None

    def get_read_tasks(self, parallelism: int, *_: Any, **__: Any) -> list[ReadTask]:
        """Returns the one task; it is never retried, since its credits died with it."""
        buffer, layout, rank, group, ranks = self._buffer, self._layout, self._rank, self._group, self._ranks
        unknown = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [ReadTask(lambda: read(buffer, layout, rank, group, ranks), unknown)]


def read(buffer: Buffer, layout: BatchLayout, rank: int, group: str, ranks: int | None = None) -> Iterator[Block]:
    """Yields the worker's batches until the stream is over."""
    buffer.open(rank, group, ranks)
    while (taken := buffer.take(rank, group)) is not None:
        if isinstance(taken, list):
            rows = ticket_rows(taken, layout.tickets) if layout.ticketed else fetched(buffer, layout, taken[0])
            yield block_of(rows)
        elif taken:
            yield block_of(taken)


def stream(buffer: Buffer, layout: BatchLayout, rank: int, group: str, ranks: int) -> Dataset:
    """Returns the endless dataset of one worker."""
    return dataset_of(BufferSource(buffer, layout, rank, group, ranks), block_bytes(layout))


def dataset_of(source: Datasource, batch_bytes: int) -> Dataset:
    """Returns the dataset of a source with one read task that yields batches of equal size.

    Ray Data's defaults would hold hundreds of blocks and yield none below 128 MiB; here a block is a batch, and what
    is under way is bounded by credits.

    Args:
      source: Yields batches as blocks.
      batch_bytes: Size of one of them.
    """
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.execution_no_progress_timeout_s = -1  # A quiet night is no failure.
    context._max_num_blocks_in_streaming_gen_buffer = 1  # There is no public name for it.
    context.target_max_block_size = int(BLOCK_SHARE * batch_bytes)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`ray_remote_args` is deprecated")  # max_retries has no other way in.
        dataset: Dataset = ray.data.read_datasource(
            source, override_num_blocks=1, num_cpus=READ_CPUS, ray_remote_args={"max_retries": 0}
        )
    return dataset


def block_of(batch: Mapping[str, NDArray[Any]]) -> Block:
    """Returns a batch as a block."""
    return BlockAccessor.batch_to_block(dict(batch))


def size_of(batch: Mapping[str, NDArray[Any]]) -> int:
    """Returns the size of a batch as a block, in bytes."""
    return int(BlockAccessor.for_block(block_of(batch)).size_bytes())


def block_bytes(layout: BatchLayout) -> int:
    """Returns the size of one batch, or of the ticket that stands for it, as a block."""
    if layout.ticketed:
        return size_of(ticket_rows([], layout.tickets))
    return size_of(numbered(padding(layout.columns, layout.rows), 0))
