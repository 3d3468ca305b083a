"""Sends weights and metrics out of rank 0, without making the learner wait."""

from collections.abc import Mapping
from typing import Any, Final

import ray
from torch import Tensor

from app.models.module import arrays_of
from app.stores.metrics import Metrics, Update
from app.stores.weights_client import Weights
from app.types import Version

TIMEOUT_S: Final = 30.0
"""Longest wait for the previous publish; a store that takes longer is gone."""


class Publisher:
    """One publish is under way at a time."""

    def __init__(self, weights: Weights, metrics: Metrics, trainer: str, generation: int) -> None:
        self._weights = weights
        self._trainer = trainer
        self._metrics = metrics
        self.version = Version(generation, -1)
        """Newest published version; number -1 before the first."""
        self._under_way: list[ray.ObjectRef[Any]] = []

    def publish(self, weights: Mapping[str, Tensor]) -> None:
        """Publishes weights under the next number.

        Raises:
          ray.exceptions.RayError: The store did not take the previous ones.
        """
        self._settle()
        parent = self.version if self.version.number >= 0 else None
        self.version = Version(self.version.generation, self.version.number + 1)
        self._under_way.append(self._weights.publish(self.version, arrays_of(weights), parent))

    def report(self, update: Update) -> None:
        """Sends the metrics of an update."""
        self._under_way.append(self._metrics.update(update._replace(trainer=self._trainer)))

    def close(self) -> None:
        """Waits until all is sent."""
        self._settle()

    def _settle(self) -> None:
        under_way, self._under_way = self._under_way, []
        ray.get(under_way, timeout=TIMEOUT_S)
