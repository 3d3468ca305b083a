"""Draws the charts of the recorded demo from Prometheus' answers: ``python -m tests.dashboards.draw FILE``."""

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from tests.dashboards.boards import filled, panels
from tests.dashboards.prometheus import Prometheus, recorded
from tests.dashboards.recording import START_S, STEP_S, end_s, open_metrics, read_recording

COLUMNS = 5
LINES_MAX = 8
"""Lines of one chart that a person can tell apart."""


def main(file: Path) -> None:
    """Draws every chart of every dashboard into one picture."""
    series = read_recording()
    charts = list(panels())
    rows = -(-len(charts) // COLUMNS)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(4 * COLUMNS, 2.3 * rows), layout="constrained")
    with tempfile.TemporaryDirectory() as folder, recorded(list(open_metrics(series)), Path(folder)) as running:
        for axis, (name, panel) in zip(axes.flat, charts, strict=False):
            _draw(axis, running, name.removesuffix(".json"), panel, end_s(series))
    for axis in axes.flat[len(charts) :]:
        axis.axis("off")
    figure.suptitle(
        "Recorded demo (CartPole until solved, then a league): Prometheus' answers to each chart's queries, "
        "drawn with matplotlib",
        fontsize=16,
    )
    figure.savefig(file, dpi=55, pil_kwargs={"optimize": True})


def _draw(axis: Axes, running: Prometheus, board: str, panel: dict[str, Any], until_s: float) -> None:
    lines = [
        (_legend(target["legendFormat"], found["metric"]), found["values"])
        for target in panel["targets"]
        for found in running.range(filled(target["expr"]), START_S, until_s, STEP_S)
    ]
    for legend, values in lines[:LINES_MAX]:
        axis.plot([time - START_S for time, _ in values], [float(value) for _, value in values], label=legend, lw=1.2)
    axis.set_title(f"{board}: {panel['title']}", fontsize=9)
    axis.set_xlim(0, until_s - START_S)
    axis.tick_params(labelsize=7)
    axis.grid(alpha=0.3)
    if any(legend for legend, _ in lines):
        axis.legend(fontsize=6, loc="upper left")


def _legend(pattern: str, labels: dict[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda match: labels.get(match.group(1), ""), pattern).strip()[:40]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
