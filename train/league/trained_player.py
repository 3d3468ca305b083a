"""A trainer under way, as the league's keeper sees it."""

from collections.abc import Callable, Mapping

from app.models.lineage import Clone
from app.stores.metrics_client import Metrics
from app.stores.weights_client import Weights
from app.types import Version


class TrainedPlayer:
    """Says how far a trainer is, and sets its weights apart."""

    def __init__(self, metrics: Metrics, weights: Weights, trainer: str, clone: Callable[[Version], Clone]) -> None:
        """Keeps the parts.

        Args:
          metrics: Where the trainer's updates are told of.
          weights: Its model's side of the weight store.
          trainer: Its name.
          clone: Makes a frozen clone of one of its versions.
        """
        self.clone = clone
        self._metrics = metrics
        self._weights = weights
        self._trainer = trainer

    def newest(self) -> Mapping[str, float]:
        """Returns the metrics of its newest update; empty before the first."""
        return self._metrics.progress(1, self._trainer).last

    def pin(self) -> Version | None:
        """Returns its newest published version and keeps the weights; None where nothing was published."""
        return self._weights.pin()

    def unpin(self, version: Version) -> None:
        """Lets them go."""
        self._weights.unpin(version)
