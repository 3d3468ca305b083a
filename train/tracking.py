"""Metrics on their way to MLflow: training only enqueues, one thread imports MLflow and does all the writing."""

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from app.errors import TrackingError
from app.stores import mlflow_connection
from train.mlflow_run import METRICS_PER_CALL, MlflowRun, RunStatus, TrackedTrial
from train.unsent import LeftOver, Unsent, UnsentRun, left_over
from train.update_buffer import UpdateBuffer

CAPACITY_UPDATES: Final = 10_000
"""Updates kept while the store is slow or away: a quarter of an hour at ten a second."""
PERIOD_S: Final = 1.0
"""Seconds between writes: MLflow commits each call, 8 to 70 ms on sqlite."""
UPDATES_AT_ONCE: Final = 100
"""Updates of an earlier run that are sent together."""
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 15.0
CLOSING_PAUSE_S: Final = 0.25
"""Pause between tries once the end was asked for and a deadline runs."""
AWAY_S: Final = 60.0
"""Longest wait for the run of a store that does not answer."""
OPENING_S: Final = 300.0
"""Longest wait for the run of a store that has not failed: to import MLflow and make its tables takes ten seconds, and
minutes where others want the same cores."""
LOOK_S: Final = 0.25
"""Seconds between two looks whether the store has failed."""

_logger = logging.getLogger(__name__)


class Tracker:
    """One MLflow run of one trial, fed without ever waiting for the store.

    While the store is away, updates are kept in memory and, where there are too many, in a file; they are written once
    it is back. What is left at the end stays in the file, and the next start of the trial sends it. Without a file up
    to ``CAPACITY_UPDATES`` are kept. What is beyond that is dropped and counted in ``dropped``, the oldest first.
    """

    def __init__(self, uri: str, root: Path, trial: TrackedTrial, unsent: Path | None = None) -> None:
        """Keeps the names; nothing is imported, opened or started.

        Args:
          uri: Address of the store, as ``mlflow_store.tracking_uri`` gives it.
          root: State root, under which the artifacts of an sqlite store lie.
          trial: What the run records, and the run to resume if there is one.
          unsent: Folder of the files of what could not be sent; None keeps none.
        """
        self._uri, self._root, self._folder = uri, root, unsent
        self._run = MlflowRun(uri, root, trial)
        of_run = UnsentRun(mlflow_connection.shown(uri), self._run.start, trial)
        self._unsent = None if unsent is None else Unsent(unsent, of_run)
        self._buffer = UpdateBuffer(CAPACITY_UPDATES, METRICS_PER_CALL, self._unsent)
        self._opened = threading.Event()
        self._closing = threading.Event()
        self._deadline = math.inf
        self._status: RunStatus = "FAILED"
        self._refusal: TrackingError | None = None
        self._complete = False
        self._away = False
        self._refused = False
        self._thread = threading.Thread(target=self._work, name="tracking", daemon=True)

    @property
    def dropped(self) -> int:
        """Returns the updates that will never be written: no room, refused by the store, or cut by the end."""
        return self._buffer.lost

    @property
    def non_finite(self) -> int:
        """Returns how many values were infinite or not a number; they are not written, a tag of the run lists them."""
        return self._buffer.non_finite_values

    def check(self) -> None:
        """Checks within 3 s, without importing MLflow, that the store can be used.

        Raises:
          TrackingError: It cannot; the message names the address and what to do.
        """
        mlflow_connection.check(self._uri)

    def start(self) -> None:
        """Starts the thread that imports MLflow, opens the run and writes."""
        self._thread.start()

    def log(self, step: int, metrics: Mapping[str, float], time_s: float) -> None:
        """Enqueues the metrics of one update and never waits; when full, the oldest update is dropped and counted.

        Args:
          step: Number of the update.
          metrics: Values by name; copied.
          time_s: When they were measured, in Unix seconds.
        """
        self._buffer.add(step, metrics, time_s)

    def run_id(self, timeout_s: float = AWAY_S) -> str:
        """Returns the id of the run once it is open.

        Args:
          timeout_s: Longest wait for a store that is away; one that is still being opened has ``OPENING_S``.

        Raises:
          TrackingError: It is not open in time, or the store refused it.
        """
        begun_s = time.monotonic()
        while self._thread.is_alive() and not self._opened.wait(LOOK_S):
            if time.monotonic() - begun_s >= (timeout_s if self._away else OPENING_S):
                break
        if self._refusal is not None:
            raise self._refusal
        if self._run.run_id is None:
            reason = "see the log for the reason" if self._away else "it has not failed, but is not open yet"
            waited_s = time.monotonic() - begun_s
            raise TrackingError(f"{self._shown} has opened no run within {waited_s:.0f} s; {reason}")
        return self._run.run_id

    def close(self, status: RunStatus, timeout_s: float) -> bool:
        """Writes what is left, ends the run, and returns whether all of that was done within ``timeout_s``.

        What could not be written is counted in ``dropped`` and logged. A call that hangs in the store is then left to
        its own time-out (MLFLOW_HTTP_REQUEST_TIMEOUT); it keeps neither us nor the process waiting.
        """
        self._status = status
        self._deadline = time.monotonic() + timeout_s
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        if not self._complete:
            self._leave()
        return self._complete

    def _leave(self) -> None:
        """Keeps what was not written for the next start of the trial, where there is a file for it."""
        left = self._buffer.end()
        kept = 0
        if self._unsent is not None and self._refusal is None and left:
            kept = len(left) - self._unsent.leave(left, self._status, self._buffer.non_finite)
        self._buffer.lost += len(left) - kept
        hint = f"; {kept} more are sent by the next start of this trial" if kept else ""
        _logger.warning(
            "%s: the run was not ended in time; updates not written: %d%s", self._shown, self._buffer.lost, hint
        )

    @property
    def _shown(self) -> str:
        return f"tracking store {mlflow_connection.shown(self._uri)}"

    def _work(self) -> None:
        try:
            if not self._attempt(self._run.open):
                return
            self._opened.set()
            self._send_left_over()
            while not self._closing.wait(PERIOD_S):
                self._flush()
            self._complete = self._flush() and self._attempt(lambda: self._run.end(self._status))
        except TrackingError as error:
            self._refusal = error
            _logger.error("%s", error)  # noqa: TRY400  (the message says it all)
        finally:
            self._opened.set()

    def _send_left_over(self) -> None:
        """Sends what earlier runs of the trial could not; what cannot be sent now either stays for the next start."""
        for left in [] if self._folder is None else left_over(self._folder, self._uri):
            try:
                if self._send(left):
                    left.remove()
            except TrackingError as error:
                _logger.warning("what an earlier run has left for MLflow is dropped: %s", error)
                left.remove()
            finally:
                left.close()

    def _send(self, left: LeftOver) -> bool:
        run = MlflowRun(self._uri, self._root, left.run.trial, left.run.start)
        buffer = UpdateBuffer(CAPACITY_UPDATES, METRICS_PER_CALL)
        buffer.non_finite.update(left.run.non_finite)
        if not self._attempt(run.open):
            return False
        for update in left.updates():
            buffer.add(*update)
            if len(buffer) >= UPDATES_AT_ONCE and not self._written(run, buffer):
                return False
        return self._written(run, buffer) and self._attempt(lambda: run.end(left.run.status))

    def _written(self, run: MlflowRun, buffer: UpdateBuffer) -> bool:
        while buffer.take():
            if not self._attempt(lambda: run.write(buffer.taken, buffer.non_finite)):
                return False
            buffer.settle(written=True)
        return True

    def _flush(self) -> bool:
        """Writes all that waits and returns False where the deadline came first; what the store refuses is counted."""
        while self._buffer.take():
            try:
                if not self._attempt(lambda: self._run.write(self._buffer.taken, self._buffer.non_finite)):
                    return False
            except TrackingError as error:
                self._buffer.settle(written=False)
                self._note_refused(error)
            else:
                self._buffer.settle(written=True)
        return True

    def _attempt(self, action: Callable[[], None]) -> bool:
        """Repeats an action until it succeeds, and returns False where the deadline came first.

        Raises:
          TrackingError: The store refused, so that repeating cannot help.
        """
        known: tuple[type[Exception], ...] = (TrackingError, *mlflow_connection.failures())
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                action()
            except known as error:
                if mlflow_connection.is_refusal(error):
                    raise TrackingError(f"{self._shown} refused: {error}") from error
                self._note_away(error)
                self._buffer.spill()
            else:
                self._note_back()
                return True
            if not self._closing.wait(pause_s):
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            elif time.monotonic() < self._deadline:
                time.sleep(CLOSING_PAUSE_S)
            else:
                return False

    def _note_away(self, error: Exception) -> None:
        if not self._away:  # Once, not at every try.
            self._away = True
            _logger.warning("%s is away, updates are kept until it is back: %s", self._shown, error)

    def _note_back(self) -> None:
        if self._away:
            self._away = False
            _logger.warning("%s is back; updates lost: %d", self._shown, self._buffer.lost)

    def _note_refused(self, error: TrackingError) -> None:
        if not self._refused:  # Once, not once a second: later ones are counted.
            self._refused = True
            _logger.warning("%s; updates lost: %d", error, self._buffer.lost)
