"""The live, credit-gated Ray Data stream between a buffer and the learner workers."""

import uuid
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import ray
from ray.data import DataContext, Dataset, Datasource
from ray.data.block import Block, BlockAccessor, BlockMetadata
from ray.data.datasource import ReadTask
from ray.train import DataConfig

from app.models.spec import ModelSpec
from app.replay.rows import empty_batch
from app.stores.buffer import Buffer

if TYPE_CHECKING:
    from app.types import Rows

BLOCK_SHARE = 0.95
"""Target block size as a share of a batch: Ray Data ends a block at the target, and slices one of 1.5 times it."""
READ_CPUS = 0.01
"""What the read task reserves: it waits for most of its life."""

NAME = "train"
"""The dataset's name inside the trainer."""


class BufferSource(Datasource):
    """One endless read task: each block is one batch, handed out by the buffer against a credit."""

    def __init__(self, buffer: Buffer, rank: int, group: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._buffer, self._rank, self._group = buffer, rank, group

    def estimate_inmemory_data_size(self) -> int | None:
        """Returns None: the stream has no end."""
        return None

    def get_read_tasks(self, parallelism: int, *_: Any, **__: Any) -> list[ReadTask]:
        """Returns the one task; it is never retried, since its credits died with it."""
        buffer, rank, group = self._buffer, self._rank, self._group
        unknown = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [ReadTask(lambda: read(buffer, rank, group), unknown)]


def read(buffer: Buffer, rank: int, group: str) -> Iterator[Block]:
    """Yields the worker's batches until the stream is over."""
    buffer.open(rank, group)
    while (batch := buffer.take(rank, group)) is not None:
        if batch:
            yield BlockAccessor.batch_to_block(batch)


def stream(buffer: Buffer, spec: ModelSpec, batch_rows: int, rank: int, group: str) -> Dataset:
    """Returns the endless dataset of one worker.

    Ray Data's defaults would hold hundreds of blocks and yield none below 128 MiB; here a block is a batch, and what
    is under way is bounded by the buffer's credits.
    """
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.execution_no_progress_timeout_s = -1  # A quiet night is no failure.
    context._max_num_blocks_in_streaming_gen_buffer = 1  # There is no public name for it.
    context.target_max_block_size = int(BLOCK_SHARE * block_bytes(spec, batch_rows))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`ray_remote_args` is deprecated")  # max_retries has no other way in.
        dataset: Dataset = ray.data.read_datasource(
            BufferSource(buffer, rank, group),
            override_num_blocks=1,
            num_cpus=READ_CPUS,
            ray_remote_args={"max_retries": 0},
        )
    return dataset


def block_bytes(spec: ModelSpec, batch_rows: int) -> int:
    """Returns the size of one batch as a block."""
    batch: Rows = empty_batch(spec, batch_rows) | {"batch": np.zeros(batch_rows, np.int64)}
    return int(BlockAccessor.for_block(BlockAccessor.batch_to_block(batch)).size_bytes())


class OwnStreams(DataConfig):
    """Gives each worker a stream of its own; the workers of one start form one group."""

    def __init__(self, make: Callable[[int, str], Dataset]) -> None:
        super().__init__()
        self._make = make

    def configure(self, datasets: Any, world_size: int, *_: Any, **__: Any) -> list[dict[str, Any]]:
        """Returns the stream of each rank."""
        group = uuid.uuid4().hex
        return [{NAME: self._make(rank, group).iterator()} for rank in range(world_size)]
