"""The credit-gated Ray Data stream of a source for one learner worker."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from ray.data import Dataset, Datasource
from ray.data.block import Block, BlockMetadata
from ray.data.datasource import ReadTask

from app.config.root import ExperimentConfig
from app.models.spec import ModelSpec
from app.replay.rows import empty_batch
from app.sources.batches import batches
from app.sources.opening import open_preprocess, open_reader
from app.sources.position import START, Position
from app.sources.preprocess import Preprocess
from app.stores.gate import Gate
from app.types import Rows
from train.data import READ_CPUS, block_of, dataset_of, size_of

FILLER: Final = "filler"
"""Column of zeros that makes batches as stored and as preprocessed equal in size: Ray Data knows one block size."""


@dataclass(frozen=True, slots=True)
class SourceStream:
    """What the streams of all workers have in common; it travels to their read tasks."""

    config: ExperimentConfig
    """Its paths hold in any folder."""
    source: str
    spec: ModelSpec
    batch_rows: int
    ranks: int
    gate: Gate

    def first_batch(self) -> Rows:
        """Returns the first batch of the first worker, as stored.

        Raises:
          SourceError: It cannot be read, or does not fit the model.
        """
        reader = open_reader(self.config, self.source, self.spec, ranks=self.ranks)
        return next(batches(reader, self.batch_rows)).rows

    def preprocess(self) -> Preprocess | None:
        """Returns what turns batches as stored into those of the model; None where they are.

        Raises:
          PluginError: There is no such function.
        """
        return open_preprocess(self.config, self.source, self.spec)

    def read(self, rank: int, group: str, filler_bytes: int) -> Iterator[Block]:
        """Yields the worker's batches, each when all workers have one, until one of them has no more."""
        credits_batches = self.config.sources[self.source].credits_batches
        place, first = self.gate.open(rank, group, self.ranks, credits_batches)
        reader = open_reader(self.config, self.source, self.spec, rank=rank, ranks=self.ranks, past=place.past)
        for number, (rows, position) in zip(count(), batches(reader, self.batch_rows, place.position), strict=False):
            if not self.gate.admit(rank, group, number):
                return
            yield block_of(filled(rows | marks(self.batch_rows, first + number, position), filler_bytes))
        self.gate.exhaust(rank, group)


class SourceTask(Datasource):
    """One read task: each block is one batch."""

    def __init__(self, stream: SourceStream, rank: int, group: str, filler_bytes: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._stream, self._rank, self._group, self._filler = stream, rank, group, filler_bytes

    def estimate_inmemory_data_size(self) -> int | None:
        """Returns None: the stream may have no end."""
        return None

    def get_read_tasks(self, parallelism: int, *_: Any, **__: Any) -> list[ReadTask]:
        """Returns the one task; it is never retried, since its credits died with it."""
        stream, rank, group, filler = self._stream, self._rank, self._group, self._filler
        unknown = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [ReadTask(lambda: stream.read(rank, group, filler), unknown)]


def dataset(stream: SourceStream, rank: int, group: str) -> Dataset:
    """Returns the batches of one worker, with the columns ``batch`` and ``position`` beside the model's rows.

    Raises:
      SourceError: ``preprocess`` cannot be tried on the first batch.
    """
    marked = marks(stream.batch_rows, 0, START)
    wanted = size_of(empty_batch(stream.spec, stream.batch_rows) | marked)
    if stream.config.sources[stream.source].preprocess is None:
        return dataset_of(SourceTask(stream, rank, group, 0), wanted)
    stored = size_of(stream.first_batch() | marked)
    read = dataset_of(SourceTask(stream, rank, group, max(0, wanted - stored)), max(stored, wanted))
    read.context.execution_options.preserve_order = True
    made = max(0, stored - wanted)
    preprocess = partial(_preprocessed, stream=stream, filler_bytes=made)
    return read.map_batches(preprocess, batch_size=None, batch_format="numpy", num_cpus=READ_CPUS)


def marks(rows: int, batch: int, position: Position) -> Rows:
    """Returns what each row of a batch says of the batch."""
    return {"batch": np.full(rows, batch, np.int64), "position": np.tile(np.array(position, np.int64), (rows, 1))}


def filled(batch: Rows, filler_bytes: int) -> Rows:
    """Returns a batch with so many more bytes, rounded up to whole rows."""
    if not filler_bytes:
        return batch
    rows = len(batch["batch"])
    return batch | {FILLER: np.zeros((rows, -(-filler_bytes // rows)), np.uint8)}


def _preprocessed(batch: dict[str, NDArray[Any]], *, stream: SourceStream, filler_bytes: int) -> dict[str, Any]:
    preprocess = stream.preprocess()
    told = {name: batch[name] for name in ("batch", "position")}
    stored = {name: column for name, column in batch.items() if name not in (*told, FILLER)}
    return dict(filled((stored if preprocess is None else preprocess(stored)) | told, filler_bytes))
