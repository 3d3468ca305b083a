"""How long decisions wait for a model, and what its batches cost."""

from collections.abc import Sequence
from time import perf_counter
from typing import Final, Literal

from app.metrics.names import MODEL_BATCH_ROWS, MODEL_BATCH_SECONDS, TICK_SECONDS
from app.metrics.registry import Registry
from app.models.waiting import Waiting

Place = Literal["actor", "replica"]

now_s: Final = perf_counter
"""Returns seconds that never go back, as ``Waiting.asked_s`` has them."""


class ModelTimes:
    """Takes the times of one model's batches."""

    __slots__ = ("_batch", "_decisions", "_rows")

    def __init__(self, registry: Registry, model: str, place: Place = "actor") -> None:
        """Binds the series.

        Args:
          registry: Of the process.
          model: Name of the model.
          place: ``actor`` where sessions ask, who wait for each decision; ``replica`` where the model answers others.
        """
        self._decisions = registry.series(TICK_SECONDS, part="model", model=model).extend if place == "actor" else None
        self._batch = registry.series(MODEL_BATCH_SECONDS, model=model, place=place).add
        self._rows = registry.series(MODEL_BATCH_ROWS, model=model, place=place).add

    def took(self, group: Sequence[Waiting], begun_s: float) -> None:
        """Takes a batch that is answered now.

        Args:
          group: Who asked.
          begun_s: When the network was asked.
        """
        end_s = now_s()
        self._batch(end_s - begun_s)
        self._rows(sum([item.rows for item in group]))
        if self._decisions is not None:
            self._decisions([end_s - item.asked_s for item in group])
