"""Where a trainer's batches come from; buffers that games fill and sources of what was played before look alike."""

from typing import TYPE_CHECKING, Any, Final, Protocol

import ray
from ray.data import Dataset

from app.config.root import ExperimentConfig
from app.models.spec import ModelSpec
from app.replay.ancestry import Ancestry
from app.sources.position import Place
from app.stores.buffer import KEY_COLUMNS, Buffer
from app.stores.buffer_settings import BatchLayout, batch_layout, buffer_settings
from app.stores.trial import Trial
from app.types import Version
from train.data import stream
from train.sources.input import SourceInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch import Tensor


SETTLE_S: Final = 60.0
"""Longest wait until priorities have arrived."""


class Input(Protocol):
    """One input of a trainer, as the driver and each of its workers see it; it travels to both.

    The driver gives each rank ``dataset(rank, group, ranks)``, whose blocks are batches of exactly ``batch_rows`` rows,
    the last one of a bootstrap, with the columns of ``app.replay.rows`` and ``batch``, the batch's id. Batches come in
    rounds, one for each rank, so that all ranks get equally many. A rank iterates ``batches``, and says ``release``
    when it has learned from one.
    """

    name: str
    """Of the buffer or source."""
    stream: str
    """Its dataset's name inside the trainer."""
    batch_rows: int
    live: bool
    """Whether it may have nothing for a while: then it sends empty batches, to all ranks alike."""
    max_policy_lag: int | None
    """Largest age of a row, in published versions; None: rows have no age, and come from any policy."""

    def dataset(self, rank: int, group: str, ranks: int) -> Dataset:
        """Returns the batches of a rank; the ranks of one start form one group, of so many."""

    def check(self) -> None:
        """Does nothing where the first rows can be learned from.

        Raises:
          SparringError: They cannot be read, or do not fit the model.
        """

    def batches(self, rank: int, place: Place | None) -> "Iterator[dict[str, Tensor]]":
        """Yields the batches of the calling worker as tensors on its device.

        Args:
          rank: Of the worker.
          place: First row of the column ``position`` of the last batch that was learned from, where its batches have
            one, and what groups of workers before have left; None begins at the start.
        """

    def release(self, rank: int, batch_id: int) -> "ray.ObjectRef[Any]":
        """Gives the credit of a batch back."""

    def update_priorities(self, batch: "Mapping[str, Tensor]", priorities: "Tensor") -> None:
        """Says how much each row of a batch is worth being drawn again; nothing happens where rows are not drawn."""

    def advance(self, newest: Version, ancestry: Ancestry) -> None:
        """Says which version was published; nothing happens where rows do not leave by their age.

        Args:
          newest: The version.
          ancestry: What its generation went on from.
        """

    def finish(self, batch_id: int) -> None:
        """Ends the streams of all ranks, unless the batch is of an older group."""

    def close(self) -> None:
        """Ends the streams of all ranks."""

    def gauges(self) -> dict[str, float]:
        """Returns what is known between updates, by metric name."""


class BufferInput:
    """The rows of games that are played now: each is seen once, so there is no position to go back to."""

    live = True

    def __init__(self, buffer: Buffer, name: str, stream: str, layout: BatchLayout, max_policy_lag: int | None) -> None:
        self._buffer = buffer
        self._layout = layout
        self.name, self.stream, self.batch_rows = name, stream, layout.rows
        self.max_policy_lag = max_policy_lag
        self._sent: list[ray.ObjectRef[Any]] = []
        self._advanced: list[ray.ObjectRef[Any]] = []

    def dataset(self, rank: int, group: str, ranks: int) -> Dataset:
        """Returns the endless dataset of a rank; the buffer deals out its rounds."""
        return stream(self._buffer, self._layout, rank, group, ranks)

    def check(self) -> None:
        """Does nothing: agents and trainer share the model's spec."""

    def batches(self, rank: int, place: Place | None) -> "Iterator[dict[str, Tensor]]":
        """Yields the batches of the games that are played now, wherever others have ended."""
        from train.collate import batches  # noqa: PLC0415  # Torch, which no other side of the input needs.

        return batches(self.stream, self._buffer, self._layout)

    def release(self, rank: int, batch_id: int) -> "ray.ObjectRef[Any]":
        """Gives the credit of a batch back."""
        return self._buffer.release(rank, batch_id)

    def update_priorities(self, batch: "Mapping[str, Tensor]", priorities: "Tensor") -> None:
        """Gives the items of a table their new priorities; those of the batch before have arrived by then."""
        if KEY_COLUMNS[0] not in batch:
            return
        ray.get(self._sent, timeout=SETTLE_S)
        keys = {name: batch[name].cpu().numpy() for name in KEY_COLUMNS}
        self._sent = self._buffer.update_priorities(keys, priorities.numpy())

    def advance(self, newest: Version, ancestry: Ancestry) -> None:
        """Has items of a table leave that the version makes too old; the one before has arrived by then."""
        if not self._layout.by_version:
            return
        ray.get(self._advanced, timeout=SETTLE_S)
        self._advanced = self._buffer.advance(newest, ancestry)

    def finish(self, batch_id: int) -> None:
        """Ends the streams of all ranks, unless the batch is of an older group."""
        self._buffer.finish(batch_id)

    def close(self) -> None:
        """Ends the streams of all ranks."""
        self._buffer.close()

    def gauges(self) -> dict[str, float]:
        """Returns the rows that came, waited and had to be dropped."""
        stats = self._buffer.stats()
        rows = {
            "buffer_rows_inserted": stats.inserted,
            "buffer_rows_dropped": stats.dropped,
            "buffer_rows_held": stats.held,
            "buffer_pushes_repeated": stats.repeated_pushes,
            "buffer_pushes_refused": stats.refused_pushes,
        }
        return {name: float(value) for name, value in rows.items()}


def open_input(config: ExperimentConfig, trainer: str, at: int, trial: Trial, spec: ModelSpec) -> Input:
    """Returns an input of a trainer, in the driver and in each worker.

    Args:
      config: Config with the components of its mode.
      trainer: Name of the trainer.
      at: Place of the input among the trainer's.
      trial: Stores of the running service.
      spec: Shapes of the trained model.

    Raises:
      ServiceNotFoundError: The service has no such buffer.
    """
    wanted, workers = config.trainers[trainer].inputs[at], config.trainers[trainer].most_workers
    if wanted.source is not None:
        gate = trial.gate(f"{trainer}.{at}")
        return SourceInput(config, wanted.source, stream_name(at), spec, wanted.batch_rows, workers, gate)
    name = str(wanted.buffer)
    layout = batch_layout(spec, buffer_settings(config, name))
    lag = config.buffers[name].max_policy_lag if config.buffers[name].table is None else None
    return BufferInput(trial.buffer(name), name, stream_name(at), layout, lag)


def stream_name(at: int) -> str:
    """Returns the name of an input's dataset inside the trainer."""
    return f"input {at}"
