"""Carries the trainer's metrics from the metric store to MLflow and TensorBoard."""

import threading
import time
from typing import Final

from app.metrics.tensorboard import TensorBoardWriter
from app.stores.metrics import Metrics
from train.tracking import Tracker

PERIOD_S: Final = 1.0
"""Seconds between two looks."""
TRACK_AFTER_S: Final = 20.0
"""Seconds before MLflow is imported, which costs 2 CPU seconds and 150 MiB: a start needs both itself.

What comes before is kept and written then, or at the end of a shorter run.
"""


class Monitor:
    """A thread that looks for new updates, and opens the MLflow run once training has lasted for a while."""

    def __init__(self, metrics: Metrics, tracker: Tracker, tensorboard: TensorBoardWriter | None) -> None:
        self._metrics = metrics
        self._tracker = tracker
        self._tensorboard = tensorboard
        self._seen = 0
        self._tracking = False
        self._opening = threading.Lock()
        self._started_s = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="monitor", daemon=True)

    def start(self) -> None:
        """Starts to look."""
        self._thread.start()

    def track(self) -> None:
        """Opens the MLflow run now, if it is not open."""
        with self._opening:
            if not self._tracking:
                self._tracking = True
                self._tracker.start()

    def close(self, timeout_s: float) -> None:
        """Takes over what is left and ends."""
        self._stop.set()
        self._thread.join(timeout_s)
        self._look()
        if self._seen:
            self.track()
        if self._tensorboard is not None:
            self._tensorboard.close()

    def _work(self) -> None:
        while not self._stop.wait(PERIOD_S):
            self._look()
            if self._seen and time.monotonic() - self._started_s > TRACK_AFTER_S:
                self.track()

    def _look(self) -> None:
        for update in self._metrics.updates_after(self._seen):
            self._seen = update.number
            self._tracker.log(update.number, update.metrics, update.time_s)
            if self._tensorboard is not None:
                self._tensorboard.scalars(update.number, update.metrics, update.time_s)
