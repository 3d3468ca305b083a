"""The page about metrics: its Python runs, and its names are those of the code."""

import re
from pathlib import Path

from app.metrics import names
from app.metrics.here import PROCESS
from app.metrics.query import REDUCTIONS
from app.metrics.registry import RESERVED
from app.metrics.track import POINTS_MAX, SLOT_S, WINDOW_MAX_S

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")


def test_the_python_of_the_page_records() -> None:
    agents, *others = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert "self.context.measure(" in agents
    for block in others:
        exec(block, {})  # noqa: S102  # Our own page.
    found = {part.labels: part.summary.sum for part in PROCESS.whole() if part.metric.name == "damage"}
    assert found == {(("weapon", "axe"),): 6.0}


def test_the_metrics_of_the_page_are_declared() -> None:
    shown = set(re.findall(r"`(sparring_[a-z_]+)", PAGE)) - {"sparring_measure", "sparring_learner"}
    declared = set(names.BY_NAME)
    assert shown <= declared, shown - declared
    assert {metric.name for metric in names.METRICS if metric.kind == "distribution"} - {"sparring_measure"} <= shown


def test_the_bounds_of_the_page_are_those_of_the_code() -> None:
    assert all(f"`{reduction}`" in PAGE for reduction in REDUCTIONS)
    assert all(f"`{label}`" in PAGE for label in RESERVED)
    assert f"{SLOT_S} to {WINDOW_MAX_S}" in PAGE
    assert f"up to\n{POINTS_MAX}" in PAGE
