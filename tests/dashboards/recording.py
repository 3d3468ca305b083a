"""A recorded demo run: what Prometheus scraped from it, one line a series.

``python -m tests.dashboards.record -- COMMAND`` makes it anew.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.dashboards.boards import Selected, selected

FILE: Final = Path(__file__).parent / "demo.txt.gz"
START_S: Final = 1_767_225_600.0
"""When the recording is said to begin: its own times are relative."""
STEP_S: Final = 5.0
"""Seconds between two samples of a series."""


class Recorded(NamedTuple):
    """One series."""

    selector: str
    """Name and labels, as Prometheus writes them."""
    values: tuple[str, ...]
    """One for each step; ``-`` where it was not there."""

    @property
    def parsed(self) -> Selected:
        """Returns name and labels as values."""
        return selected(self.selector)[0]


def write_recording(series: list[dict[str, Any]], start_s: float, end_s: float) -> None:
    """Writes what ``query_range`` has returned."""
    steps = int((end_s - start_s) / STEP_S) + 1
    lines = []
    for one in series:
        labels = dict(one["metric"])
        name = labels.pop("__name__")
        shown = ",".join(f'{label}="{_without_folders(value)}"' for label, value in sorted(labels.items()))
        at = {round((float(time) - start_s) / STEP_S): value for time, value in one["values"]}
        lines.append("\t".join([f"{name}{{{shown}}}", " ".join(at.get(step, "-") for step in range(steps))]))
    FILE.write_bytes(gzip.compress(("\n".join(sorted(lines)) + "\n").encode(), mtime=0))


def _without_folders(value: str) -> str:
    """Returns a label without the folders of the machine where it was recorded."""
    return Path(value).name if value.startswith("/") else value


def read_recording() -> list[Recorded]:
    """Returns the series of the recording."""
    lines = gzip.decompress(FILE.read_bytes()).decode().splitlines()
    return [Recorded(selector, tuple(values.split(" "))) for selector, values in (line.split("\t") for line in lines)]


def end_s(series: list[Recorded]) -> float:
    """Returns when the recording is said to end."""
    return START_S + (len(series[0].values) - 1) * STEP_S


def open_metrics(series: list[Recorded]) -> Iterator[str]:
    """Returns the samples as OpenMetrics writes them."""
    for one in series:
        for step, value in enumerate(one.values):
            if value != "-":
                yield f"{one.selector} {value} {START_S + step * STEP_S:.0f}"
