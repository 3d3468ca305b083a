"""Follows the trials of a search as Ray Tune tells of them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ray import tune
from ray.tune.experiment import Trial

from app.config.root import ExperimentConfig
from app.config.search import SearchConfig, Value
from train.search.records import Records
from train.search.result import Candidate, Ending
from train.search.trial import COPIED_FROM, FAILURE, UPDATES


class Watch(tune.Callback):
    """Passes reports on to MLflow and to the user, and knows how each trial ended."""

    def __init__(
        self,
        search: SearchConfig,
        config_of: Callable[[str, Mapping[str, Value]], ExperimentConfig],
        records: Records,
        folder: Path,
        tell: Callable[[str], None],
    ) -> None:
        """Keeps the parts.

        Args:
          search: What the trials are part of.
          config_of: Returns the config of a trial, by its name and values.
          records: Takes the reports.
          folder: Holds a folder for each trial.
          tell: Shows a line to the user.
        """
        self.candidates: dict[str, Candidate] = {}
        """Trials that have ended."""
        self._search = search
        self._config_of = config_of
        self._records = records
        self._folder = folder
        self._tell = tell
        self._last: dict[str, Candidate] = {}
        """Trials as of their newest report.

        Ray Tune's own memory of a member of a population may already be that of another one, whose weights it would go
        on from with values that nobody has tried.
        """

    def __getstate__(self) -> dict[str, object]:
        """Returns nothing: Ray Tune writes its callbacks to disk, for a resumption that we do not offer."""
        return {}

    def on_trial_result(
        self, iteration: int, trials: list[Trial], trial: Trial, result: dict[str, Any], **info: Any
    ) -> None:
        """Takes a report."""
        name = named(trial.trial_id)
        before = self._last.get(name)
        donor = str(result[COPIED_FROM]) if result["iterations_since_restore"] == 1 else ""
        if donor:
            self._tell(f"{name} goes on from {donor} with {shown(trial.config)}")
        metrics = {key: float(value) for key, value in result.items() if _is_metric(key, value)}
        last = self._last[name] = Candidate(
            name=name,
            ending="stopped",
            updates=int(result[UPDATES]),
            metric=metrics[self._search.metric],
            values=dict(trial.config),
            copies=(before.copies if before else 0) + bool(donor),
            checkpoint=str(self._folder / name / result["checkpoint_dir_name"]),
            error=None,
        )
        tried = {path: float(value) for path, value in last.values.items() if isinstance(value, int | float)}
        self._records.report(name, lambda: self._config_of(name, last.values), last.updates, tried | metrics)
        self._tell(f"{name}  updates {last.updates}  {self._search.metric} {last.metric:.4g}")

    def on_trial_complete(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        """Notes that a trial has come to its end, or was stopped."""
        last = self._last.get(named(trial.trial_id))
        # One that took over from a trial at its end has nothing left to train, and reports nothing more.
        done = max(last.updates if last else 0, int((trial.last_result or {}).get(UPDATES, 0)))
        whole = done >= self._search.updates
        self._end(trial, "finished" if whole else "stopped", None)

    def on_trial_error(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        """Notes that a trial has failed."""
        told = self._folder / named(trial.trial_id) / FAILURE
        self._end(trial, "failed", told.read_text(encoding="utf-8") if told.is_file() else "its process is gone")

    def _end(self, trial: Trial, ending: Ending, error: str | None) -> None:
        name = named(trial.trial_id)
        last = self._last.get(name) or Candidate(name, ending, 0, None, dict(trial.config), 0, None, None)
        candidate = self.candidates[name] = replace(last, ending=ending, error=error)
        self._records.end(candidate)
        self._tell(f"{name} {ending} after {candidate.updates} updates{f': {error}' if error else ''}")


_TUNES_OWN: Final = {"time_this_iter_s", "time_total_s", "time_since_restore"}
"""Numbers that Ray Tune adds to each report."""


def _is_metric(name: str, value: object) -> bool:
    return isinstance(value, float) and name not in _TUNES_OWN


def named(trial_id: str) -> str:
    """Returns the name of the trial with an id of Ray Tune, which ends with its number."""
    return f"trial_{int(trial_id.rpartition('_')[2]):03d}"


def shown(values: Mapping[str, Value]) -> str:
    """Returns values as a line: the last word of each path, and numbers to four digits."""
    return ", ".join(
        f"{path.rpartition('.')[2]} {value:.4g}" if isinstance(value, float) else f"{path.rpartition('.')[2]} {value}"
        for path, value in values.items()
    )
