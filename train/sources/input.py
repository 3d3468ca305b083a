"""A source as an input of a trainer."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ray.data import Dataset

from app.config.root import ExperimentConfig
from app.models.spec import ModelSpec
from app.replay.ancestry import Ancestry
from app.sources.opening import located
from app.sources.position import BEGIN, Place
from app.stores.gate import Gate
from app.types import Version
from train.sources.stream import FILLER, SourceStream, dataset

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import ray
    from torch import Tensor


class SourceInput:
    """What was played before: it can be read again from any position, and has no age."""

    live = False
    max_policy_lag: int | None = None

    def __init__(
        self,
        config: ExperimentConfig,
        name: str,
        stream: str,
        spec: ModelSpec,
        batch_rows: int,
        ranks: int,
        gate: Gate,
    ) -> None:
        """Keeps the names; paths that are relative begin in the folder of this process.

        Args:
          config: Config with the components of its mode.
          name: Of the source.
          stream: Name of its dataset inside the trainer.
          spec: Shapes of the trained model.
          batch_rows: Rows of one batch of one worker.
          ranks: Most workers that there may be.
          gate: Keeps them in step.
        """
        self._rows = SourceStream(located(config, Path.cwd()), name, spec, batch_rows, ranks, gate)
        self._gate = gate
        self.name, self.stream, self.batch_rows = name, stream, batch_rows

    def check(self) -> None:
        """Reads and preprocesses the first batch.

        Raises:
          SourceError: It cannot be read, or does not fit the model.
          PluginError: User code that the source names cannot be imported.
        """
        stored, preprocess = self._rows.first_batch(), self._rows.preprocess()
        if preprocess is not None:
            preprocess(stored)

    def dataset(self, rank: int, group: str, ranks: int) -> Dataset:
        """Returns the dataset of a rank; the ranks of the group share the trajectories."""
        return dataset(replace(self._rows, ranks=ranks), rank, group)

    def batches(self, rank: int, place: Place | None) -> "Iterator[dict[str, Tensor]]":
        """Yields this worker's batches as tensors, from the start or from a place."""
        from train.collate import arriving  # noqa: PLC0415  # Torch, which no other side of the input needs.

        self._gate.begin(rank, BEGIN if place is None else place)
        for batch in arriving(self.stream):
            batch.pop(FILLER, None)
            yield batch

    def release(self, rank: int, batch_id: int) -> "ray.ObjectRef[Any]":
        """Gives the credit of a batch back."""
        return self._gate.release(rank, batch_id)

    def update_priorities(self, batch: "Mapping[str, Tensor]", priorities: "Tensor") -> None:
        """Does nothing: each row comes in its turn."""

    def advance(self, newest: Version, ancestry: Ancestry) -> None:
        """Does nothing: what was recorded is as old as it is."""

    def finish(self, batch_id: int) -> None:
        """Ends the streams of all ranks, unless the batch is of an older group."""
        self._gate.finish(batch_id)

    def close(self) -> None:
        """Ends the streams of all ranks."""
        self._gate.close()

    def gauges(self) -> dict[str, float]:
        """Returns the batches that were handed out."""
        return {"source_batches": float(self._gate.stats().batches)}
