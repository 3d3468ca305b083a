"""Follows the trials of a search as Ray Tune tells of them."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from ray import tune
from ray.tune.experiment import Trial

from app.config.root import ExperimentConfig
from app.config.search import SearchConfig, Value
from train.search.records import Records
from train.search.result import Candidate, Ending
from train.search.trial import COPIED_FROM, UPDATES


class Watch(tune.Callback):
    """Passes reports on to MLflow and to the user, and knows how each trial ended."""

    def __init__(
        self,
        search: SearchConfig,
        config_of: Callable[[str, Mapping[str, Value]], ExperimentConfig],
        records: Records,
        tell: Callable[[str], None],
    ) -> None:
        """Keeps the parts.

        Args:
          search: What the trials are part of.
          config_of: Returns the config of a trial, by its name and values.
          records: Takes the reports.
          tell: Shows a line to the user.
        """
        self.candidates: dict[str, Candidate] = {}
        """Trials that have ended."""
        self._search = search
        self._config_of = config_of
        self._records = records
        self._tell = tell
        self._copies: dict[str, list[str]] = {}

    def __getstate__(self) -> dict[str, object]:
        """Returns nothing: Ray Tune writes its callbacks to disk, for a resumption that we do not offer."""
        return {}

    def on_trial_result(
        self, iteration: int, trials: list[Trial], trial: Trial, result: dict[str, Any], **info: Any
    ) -> None:
        """Takes a report."""
        name = named(trial.trial_id)
        copies = self._copies.setdefault(name, [])
        donor = str(result[COPIED_FROM])
        if donor and result["iterations_since_restore"] == 1:
            copies.append(donor)
            self._tell(f"{name} goes on from {donor} with {_shown(trial.config)}")
        metrics = {key: float(value) for key, value in result.items() if key in self._reported(result)}
        self._records.report(name, self._config_of(name, trial.config), int(result[UPDATES]), metrics)
        self._tell(f"{name}  updates {result[UPDATES]}  {self._search.metric} {metrics[self._search.metric]:.4g}")

    def on_trial_complete(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        """Notes that a trial has come to its end, or was stopped."""
        updates = int((trial.last_result or {}).get(UPDATES, 0))
        self._end(trial, "finished" if updates >= self._search.updates else "stopped", None)

    def on_trial_error(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        """Notes that a trial has failed."""
        self._end(trial, "failed", cause(str(trial.get_error() or "unknown")))

    def _end(self, trial: Trial, ending: Ending, error: str | None) -> None:
        name, last = named(trial.trial_id), trial.last_result or {}
        checkpoint = trial.checkpoint
        candidate = self.candidates[name] = Candidate(
            name,
            ending,
            int(last.get(UPDATES, 0)),
            float(last[self._search.metric]) if self._search.metric in last else None,
            dict(trial.config),
            len(self._copies.get(name, [])),
            None if checkpoint is None else checkpoint.path,
            error,
        )
        self._records.end(candidate)
        self._tell(f"{name} {ending} after {candidate.updates} updates{f': {error}' if error else ''}")

    def _reported(self, result: Mapping[str, object]) -> list[str]:
        return [name for name, value in result.items() if isinstance(value, float) and name not in _TUNES_OWN]


_ERROR = re.compile(r"[A-Za-z_][\w.]*(Error|Exception)\b")
_TUNES_OWN = {"time_this_iter_s", "time_total_s", "time_since_restore"}
"""Numbers that Ray Tune adds to each report."""


def named(trial_id: str) -> str:
    """Returns the name of the trial with an id of Ray Tune, which ends with its number."""
    return f"trial_{int(trial_id.rpartition('_')[2]):03d}"


def _shown(values: Mapping[str, Value]) -> str:
    return ", ".join(
        f"{path.rpartition('.')[2]} {value:.4g}" if isinstance(value, float) else f"{path.rpartition('.')[2]} {value}"
        for path, value in values.items()
    )


def cause(trace: str) -> str:
    """Returns what a trial failed of: the end of a trace, without the places in the code."""
    lines = trace.strip().splitlines()
    begins = [place for place, line in enumerate(lines) if _ERROR.match(line)]
    return "\n".join(lines[begins[-1] :] if begins else lines[-1:])
