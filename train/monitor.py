"""Carries the trainers' metrics from the metric store to MLflow and TensorBoard."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ray.exceptions import RayError

from app.metrics.tensorboard import TensorBoardWriter
from app.stores.metrics_client import Metrics
from app.stores.metrics_values import Update
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


@dataclass(frozen=True, slots=True)
class Watched:
    """A trainer whose metrics are carried."""

    trainer: str
    agents: tuple[str, ...]
    """Agents that play its model."""
    gauges: Callable[[], dict[str, float]]
    """Returns what its inputs tell of themselves between updates."""
    prefix: str
    """In front of the names of its metrics."""


class Monitor:
    """A thread that looks for new updates, and opens the MLflow run once training has lasted for a while."""

    def __init__(
        self, metrics: Metrics, watched: Sequence[Watched], tracker: Tracker, tensorboard: TensorBoardWriter | None
    ) -> None:
        """Keeps the names.

        Args:
          metrics: Where updates and episodes are looked for.
          watched: The trainers.
          tracker: Writes to MLflow.
          tensorboard: Writes event files; None writes none.
        """
        self._metrics = metrics
        self._watched = watched
        self._tracker = tracker
        self._tensorboard = tensorboard
        self._seen = {one.trainer: 0 for one in watched}
        self._tracking = False
        self._opening = threading.Lock()
        self._started_s = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="monitor", daemon=True)

    def start(self) -> None:
        """Starts to look."""
        self._thread.start()

    def note(self, step: int, metrics: Mapping[str, float]) -> None:
        """Logs what was measured beside training, at a number of updates."""
        now_s = time.time()
        self._tracker.log(step, metrics, now_s)
        if self._tensorboard is not None:
            self._tensorboard.scalars(step, metrics, now_s)

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
        if any(self._seen.values()):
            self.track()
        if self._tensorboard is not None:
            self._tensorboard.close()

    def _work(self) -> None:
        while not self._stop.wait(PERIOD_S):
            try:
                self._look()
            except (RayError, TimeoutError) as error:  # The stores restart; what they still know is read then.
                _log.warning("the metrics cannot be read, trying again: %s", error)
            if any(self._seen.values()) and time.monotonic() - self._started_s > TRACK_AFTER_S:
                self.track()

    def _look(self) -> None:
        for watched in self._watched:
            updates = self._metrics.updates_after(self._seen[watched.trainer], watched.trainer)
            for update in updates:
                self._log(watched, update)
            if updates:
                self._log(watched, updates[-1]._replace(metrics=self._gauges(watched)))

    def _log(self, watched: Watched, update: Update) -> None:
        self._seen[watched.trainer] = update.number
        metrics = {f"{watched.prefix}{name}": value for name, value in update.metrics.items()}
        self._tracker.log(update.number, metrics, update.time_s)
        if self._tensorboard is not None:
            self._tensorboard.scalars(update.number, metrics, update.time_s)

    def _gauges(self, watched: Watched) -> dict[str, float]:
        """Returns what is known between updates: the games, and what the inputs tell."""
        ring = self._metrics.progress(RETURN_GAMES, watched.trainer, watched.agents)
        games = {"env_ticks": float(ring.ticks), "episodes": float(ring.episodes)}
        returned = {} if ring.mean_return is None else {f"return_mean_{RETURN_GAMES}": ring.mean_return}
        return games | watched.gauges() | returned
