"""The live, credit-gated Ray Data stream between a buffer and the learner workers."""

import uuid
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ray
from ray.data import DataContext, Dataset, Datasource
from ray.data.block import Block, BlockAccessor, BlockMetadata
from ray.data.datasource import ReadTask
from ray.train import DataConfig

from app.replay.supply import padding
from app.stores.buffer import Buffer
from app.stores.buffer_settings import BatchLayout
from app.stores.buffer_store import numbered
from train.collate import NAME, fetched, ticket_rows

BLOCK_SHARE = 0.95
"""Target block size as a share of a batch: Ray Data ends a block at the target, and slices one of 1.5 times it."""
READ_CPUS = 0.01
"""What the read task reserves: it waits for most of its life."""


class BufferSource(Datasource):
    """One endless read task: each block is one batch, or a ticket for one, handed out against a credit."""

    def __init__(self, buffer: Buffer, layout: BatchLayout, rank: int, group: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._buffer, self._layout, self._rank, self._group = buffer, layout, rank, group

    def estimate_inmemory_data_size(self) -> int | None:
        """Returns None: the stream has no end."""
        return None

    def get_read_tasks(self, parallelism: int, *_: Any, **__: Any) -> list[ReadTask]:
        """Returns the one task; it is never retried, since its credits died with it."""
        buffer, layout, rank, group = self._buffer, self._layout, self._rank, self._group
        unknown = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [ReadTask(lambda: read(buffer, layout, rank, group), unknown)]


def read(buffer: Buffer, layout: BatchLayout, rank: int, group: str) -> Iterator[Block]:
    """Yields the worker's batches until the stream is over."""
    buffer.open(rank, group)
    while (taken := buffer.take(rank, group)) is not None:
        if isinstance(taken, list):
            rows = ticket_rows(taken, layout.tickets) if layout.ticketed else fetched(buffer, layout, taken[0])
            yield BlockAccessor.batch_to_block(rows)
        elif taken:
            yield BlockAccessor.batch_to_block(taken)


def stream(buffer: Buffer, layout: BatchLayout, rank: int, group: str) -> Dataset:
    """Returns the endless dataset of one worker.

    Ray Data's defaults would hold hundreds of blocks and yield none below 128 MiB; here a block is a batch, and what
    is under way is bounded by the buffer's credits.
    """
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.execution_no_progress_timeout_s = -1  # A quiet night is no failure.
    context._max_num_blocks_in_streaming_gen_buffer = 1  # There is no public name for it.
    context.target_max_block_size = int(BLOCK_SHARE * block_bytes(layout))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`ray_remote_args` is deprecated")  # max_retries has no other way in.
        dataset: Dataset = ray.data.read_datasource(
            BufferSource(buffer, layout, rank, group),
            override_num_blocks=1,
            num_cpus=READ_CPUS,
            ray_remote_args={"max_retries": 0},
        )
    return dataset


def block_bytes(layout: BatchLayout) -> int:
    """Returns the size of one batch, or of the ticket that stands for it, as a block."""
    whole = numbered(padding(layout.columns, 1 if layout.ticketed else layout.rows), 0)
    rows = ticket_rows([], layout.tickets) if layout.ticketed else whole
    return int(BlockAccessor.for_block(BlockAccessor.batch_to_block(rows)).size_bytes())


class OwnStreams(DataConfig):
    """Gives each worker a stream of its own; the workers of one start form one group."""

    def __init__(self, make: Callable[[int, str], Dataset]) -> None:
        super().__init__()
        self._make = make

    def configure(self, datasets: Any, world_size: int, *_: Any, **__: Any) -> list[dict[str, Any]]:
        """Returns the stream of each rank."""
        group = uuid.uuid4().hex
        return [{NAME: self._make(rank, group).iterator()} for rank in range(world_size)]
