"""What an objective sees of the search that it is part of."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from ray import tune

from app.config.root import ExperimentConfig
from app.config.search import SearchConfig
from app.errors import ConfigError

UPDATES: Final = "updates"
"""Reported number of updates, by which schedulers count time."""
COPIED_FROM: Final = "copied_from"
"""Reported trial whose weights this one goes on from since its last start; "" for its own."""
FAILURE: Final = "failure"
"""File of a trial's folder that says why it failed."""
WRITER: Final = "trial"
"""File of a checkpoint that names the trial that wrote it."""


class SearchTrial(Protocol):
    """One trial of a search."""

    name: str
    """Also the name of the trial in its config."""
    updates: int
    """Updates after which it is to end."""
    report_every_updates: int

    def restored(self) -> Path | None:
        """Returns the folder that it goes on from, its own or another trial's; None at the beginning."""

    def report(self, updates: int, metrics: Mapping[str, float], save: Callable[[Path], None]) -> None:
        """Reports, saves and, where another trial deserves the time more, does not return.

        Args:
          updates: Updates done.
          metrics: What was reached.
          save: Writes all that training goes on from into an empty folder.

        Raises:
          ConfigError: The metric that the search compares by is missing.
        """


Objective: TypeAlias = Callable[[ExperimentConfig, SearchTrial], None]
"""Trains a config to its end, with reports in between."""


class TuneTrial:
    """A trial in a process of Ray Tune."""

    def __init__(self, name: str, search: SearchConfig, folder: Path | None) -> None:
        """Keeps the names.

        Args:
          name: Of the trial.
          search: What it is part of.
          folder: What it goes on from; None at the beginning.
        """
        self.name = name
        self.updates = search.updates
        self.report_every_updates = search.report_every_updates
        self._metric = search.metric
        self._folder = folder
        writer = "" if folder is None else (folder / WRITER).read_text(encoding="utf-8")
        self._copied_from = "" if writer == name else writer

    def restored(self) -> Path | None:
        """Returns the folder that it goes on from, its own or another trial's; None at the beginning."""
        return self._folder

    def report(self, updates: int, metrics: Mapping[str, float], save: Callable[[Path], None]) -> None:
        """Reports, saves and, where another trial deserves the time more, does not return.

        Raises:
          ConfigError: The metric that the search compares by is missing.
        """
        if self._metric not in metrics:
            raise ConfigError(f"search.metric is {self._metric}; this objective reports {', '.join(sorted(metrics))}")
        told: dict[str, object] = {**metrics, UPDATES: updates, COPIED_FROM: self._copied_from}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            save(folder)
            (folder / WRITER).write_text(self.name, encoding="utf-8")
            tune.report(told, checkpoint=tune.Checkpoint.from_directory(folder))


@contextmanager
def tune_trial(name: str, search: SearchConfig) -> Iterator[TuneTrial]:
    """Gives the trial of the process of Ray Tune that calls this."""
    checkpoint = tune.get_checkpoint()
    if checkpoint is None:
        yield TuneTrial(name, search, None)
        return
    with checkpoint.as_directory() as folder:
        yield TuneTrial(name, search, Path(folder))
