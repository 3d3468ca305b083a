"""A search in MLflow: a run for it, and below that a run for each trial."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from app.config.root import ExperimentConfig
from app.errors import TrackingError
from app.stores.mlflow_connection import failures, tracking_uri
from app.stores.mlflow_store import connect
from train.mlflow_run import METRICS_PER_CALL, RunStatus, TrackedTrial, git_commit, metric_key
from train.search.result import Candidate, Ending
from train.tracking import Tracker
from train.unsent import UNSENT

CLOSE_TIMEOUT_S: Final = 20.0
"""Longest wait for MLflow to take what is left of a run."""
STATUS: Final[Mapping[Ending, RunStatus]] = {"finished": "FINISHED", "stopped": "KILLED", "failed": "FAILED"}
"""MLflow's word for how a trial ended; it has none of its own for one that was stopped early."""


class Records:
    """Writes what trials report, without ever waiting for the store, but for the beginning and the end."""

    def __init__(self, config: ExperimentConfig, home: Path) -> None:
        """Opens the search's run.

        Raises:
          TrackingError: MLflow does not open it.
        """
        self._uri = tracking_uri(config.tracking.mlflow_uri, home)
        self._home = home
        self._commit = git_commit(Path.cwd())
        self._trials: dict[str, Tracker] = {}
        self._search = self._tracker(config, None)
        self._search.check()
        self._search.start()
        self.run_id = self._search.run_id()

    def report(
        self, trial: str, config: Callable[[], ExperimentConfig], updates: int, metrics: Mapping[str, float]
    ) -> None:
        """Takes a report; the first one of a trial opens its run."""
        if trial not in self._trials:
            self._trials[trial] = self._tracker(config(), self.run_id)
            self._trials[trial].start()
        self._trials[trial].log(updates, metrics, time.time())

    def end(self, candidate: Candidate) -> None:
        """Ends the run of a trial."""
        tracker = self._trials.pop(candidate.name, None)
        if tracker is not None:
            tracker.close(STATUS[candidate.ending], CLOSE_TIMEOUT_S)

    def best(self, metric: str, best: Candidate, text: str) -> None:
        """Writes the best trial into the search's run: its values, its metric, and its config as ``best.yaml``.

        Raises:
          TrackingError: MLflow does not take it.
        """
        from mlflow.entities import Metric, Param  # noqa: PLC0415

        client = connect(self._uri)
        values = {"best.trial": best.name, **{f"best.{path}": value for path, value in best.values.items()}}
        params = [Param(metric_key(name), str(value)) for name, value in values.items()]
        reached = [] if best.metric is None else [best.metric]
        metrics = [Metric(metric_key(f"best_{metric}"), x, int(time.time() * 1000), best.updates) for x in reached]
        try:
            client.log_batch(self.run_id, metrics=metrics, params=params[:METRICS_PER_CALL])
            client.log_text(self.run_id, text, "best.yaml")
        except failures() as error:
            raise TrackingError(f"the best trial cannot be written into run {self.run_id}: {error}") from error

    def close(self, status: RunStatus, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Ends all runs that are open."""
        for tracker in self._trials.values():
            tracker.close("KILLED", timeout_s)
        self._trials.clear()
        self._search.close(status, timeout_s)

    def _tracker(self, config: ExperimentConfig, parent: str | None) -> Tracker:
        dumped = config.model_dump(mode="json")
        tracked = TrackedTrial(config.run.project, config.run.trial, dumped, self._commit, parent_run_id=parent)
        return Tracker(self._uri, self._home, tracked, self._home / config.run.trial / UNSENT)
