"""Carries the trainer's metrics from the metric store to MLflow and TensorBoard."""

import threading
from typing import Final, Protocol

from app.metrics.tensorboard import TensorBoardWriter
from app.stores.metrics import Metrics
from train.tracking import Tracker

PERIOD_S: Final = 1.0
"""Seconds between two looks."""


class Sink(Protocol):
    """Takes the metrics of one update."""

    def __call__(self, step: int, metrics: "dict[str, float]", time_s: float) -> None:
        """Takes them without waiting."""


class Monitor:
    """A thread that looks for new updates; MLflow is imported with the first one, so that it never sits in a start."""

    def __init__(self, metrics: Metrics, tracker: Tracker, tensorboard: TensorBoardWriter | None) -> None:
        self._metrics = metrics
        self._tracker = tracker
        self._tensorboard = tensorboard
        self._seen = 0
        self._tracking = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="monitor", daemon=True)

    def start(self) -> None:
        """Starts to look."""
        self._thread.start()

    def close(self, timeout_s: float) -> None:
        """Takes over what is left and ends; the tracker stays open for who registers models."""
        self._stop.set()
        self._thread.join(timeout_s)
        self._look()
        if self._tensorboard is not None:
            self._tensorboard.close()

    def _work(self) -> None:
        while not self._stop.wait(PERIOD_S):
            self._look()

    def _look(self) -> None:
        for update in self._metrics.updates_after(self._seen):
            self._seen = update.number
            if not self._tracking:
                self._tracking = True
                self._tracker.start()
            self._tracker.log(update.number, update.metrics, update.time_s)
            if self._tensorboard is not None:
                self._tensorboard.scalars(update.number, update.metrics, update.time_s)
