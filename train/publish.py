"""Sends weights and metrics out of rank 0, without making the learner wait; the other workers count along."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import ray
from torch import Tensor

from app.metrics.here import series
from app.metrics.names import PUBLISH_SECONDS
from app.models.module import arrays_of
from app.replay.ancestry import NO_ANCESTRY, Ancestry
from app.stores.metrics_client import Metrics
from app.stores.metrics_values import Update
from app.stores.weights_client import Weights
from app.types import Version
from train.strategies.processes import Processes

TIMEOUT_S: Final = 30.0
"""Longest wait for the previous publish; a store that takes longer is gone."""


class Advanced(Protocol):
    """An input, which is told of each new version."""

    def advance(self, version: Version, ancestry: Ancestry) -> None:
        """Learns that a version is published."""


class Publisher:
    """One publish is under way at a time; the lag of every worker's rows is measured against the newest version."""

    def __init__(
        self,
        weights: Weights,
        metrics: Metrics,
        trainer: str,
        processes: Processes,
        inputs: Sequence[Advanced],
    ) -> None:
        """Keeps the parts; ``open`` comes before anything is published.

        Args:
          weights: The model's side of the weight store.
          metrics: Where updates are told of.
          trainer: Name of the trainer.
          processes: Its workers.
          inputs: What is told of new versions.
        """
        self._weights = weights
        self._trainer = trainer
        self._metrics = metrics
        self._processes = processes
        self._inputs = inputs
        self.version = Version(0, -1)
        """Newest published version; number -1 before the first of its generation."""
        self.ancestry = NO_ANCESTRY
        """What its generation, and those before it, went on from."""
        self._published = series(PUBLISH_SECONDS, trainer=trainer)
        self._under_way: list[ray.ObjectRef[Any]] = []

    def open(self, spec_hash: str, after: int) -> Version:
        """Begins a generation that goes on from nothing, and returns its version before the first.

        Args:
          spec_hash: Of the network.
          after: A generation that it must be larger than.
        """
        generation = self._processes.share(lambda: self._weights.begin(spec_hash, after))
        self.version, self.ancestry = Version(generation, -1), NO_ANCESTRY
        return self.version

    def publish(self, weights: Mapping[str, Tensor]) -> None:
        """Publishes weights under the next number.

        Raises:
          ray.exceptions.RayError: The store did not take the previous ones.
        """
        before, self.version = self.version, Version(self.version.generation, self.version.number + 1)
        if self._processes.rank != 0:
            return
        self.settle()
        parent = before if before.number >= 0 else None
        self._under_way.append(self._timed(self._weights.publish(self.version, arrays_of(weights), parent)))
        for one in self._inputs:
            one.advance(self.version, self.ancestry)

    def report(self, update: Update) -> None:
        """Sends the metrics of an update; of rank 0 alone."""
        if self._processes.rank == 0:
            self._under_way.append(self._metrics.update(update._replace(trainer=self._trainer)))

    def _timed(self, publishing: "ray.ObjectRef[Any]") -> "ray.ObjectRef[Any]":
        """Returns a call, whose time is measured up to its end."""
        begun_s = time.perf_counter()
        publishing.future().add_done_callback(lambda _: self._published.add(time.perf_counter() - begun_s))
        return publishing

    def settle(self) -> None:
        """Waits until all is sent.

        Raises:
          ray.exceptions.RayError: The store did not take it.
        """
        under_way, self._under_way = self._under_way, []
        ray.get(under_way, timeout=TIMEOUT_S)
