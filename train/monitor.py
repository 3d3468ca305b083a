"""Carries the trainer's metrics from the metric store to MLflow and TensorBoard."""

import logging
import threading
import time
from typing import Final

from ray.exceptions import RayError

from app.metrics.tensorboard import TensorBoardWriter
from app.stores.buffer import Buffer
from app.stores.metrics import Metrics, Update
from train.tracking import Tracker

PERIOD_S: Final = 1.0
"""Seconds between two looks."""
RETURN_GAMES: Final = 100
"""Newest finished training games whose mean return is logged."""
TRACK_AFTER_S: Final = 20.0
"""Seconds before MLflow is imported, which costs 2 CPU seconds and 150 MiB: a start needs both itself.

What comes before is kept and written then, or at the end of a shorter run.
"""

_log = logging.getLogger(__name__)


class Monitor:
    """A thread that looks for new updates, and opens the MLflow run once training has lasted for a while."""

    def __init__(
        self, metrics: Metrics, buffer: Buffer, tracker: Tracker, tensorboard: TensorBoardWriter | None
    ) -> None:
        self._metrics = metrics
        self._buffer = buffer
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

    def halt(self, timeout_s: float) -> None:
        """Looks no more, whatever is left."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def close(self, timeout_s: float) -> None:
        """Takes over what is left and ends."""
        self.halt(timeout_s)
        self._look()
        if self._seen:
            self.track()
        if self._tensorboard is not None:
            self._tensorboard.close()

    def _work(self) -> None:
        while not self._stop.wait(PERIOD_S):
            try:
                self._look()
            except (RayError, TimeoutError) as error:  # The stores restart; what they still know is read then.
                _log.warning("the metrics cannot be read, trying again: %s", error)
            if self._seen and time.monotonic() - self._started_s > TRACK_AFTER_S:
                self.track()

    def _look(self) -> None:
        updates = self._metrics.updates_after(self._seen)
        for update in updates:
            self._log(update)
        if updates:
            self._log(updates[-1]._replace(metrics=self._gauges()))

    def _log(self, update: Update) -> None:
        self._seen = update.number
        self._tracker.log(update.number, update.metrics, update.time_s)
        if self._tensorboard is not None:
            self._tensorboard.scalars(update.number, update.metrics, update.time_s)

    def _gauges(self) -> dict[str, float]:
        """Returns what is known between updates: the games, and the rows that the buffer had to drop."""
        ring, buffer = self._metrics.progress(RETURN_GAMES), self._buffer.stats()
        gauges = {
            "env_ticks": ring.ticks,
            "episodes": ring.episodes,
            "buffer_rows_inserted": buffer.inserted,
            "buffer_rows_dropped": buffer.dropped,
            "buffer_rows_held": buffer.held,
            "buffer_pushes_repeated": buffer.repeated_pushes,
        }
        returned = {} if ring.mean_return is None else {f"return_mean_{RETURN_GAMES}": ring.mean_return}
        return {name: float(value) for name, value in gauges.items()} | returned
