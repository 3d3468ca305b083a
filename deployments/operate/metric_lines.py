"""Metrics as tables of text."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table

MISSING: Final = "-"
"""What stands where there is no figure yet."""
BAR: Final = 40
"""Characters of the longest bar of a histogram."""


def names_shown(metrics: Sequence[Mapping[str, Any]], title: str) -> RenderableType:
    """Returns what can be asked for: metrics, and the labels that they have."""
    table = Table(title=title)
    for column in ("name", "kind", "unit", "labels", "meaning"):
        table.add_column(column, overflow="fold")
    for one in metrics:
        table.add_row(one["name"], one["kind"], one["unit"], " ".join(one["labels"]), one["help"])
    return table


def series_shown(series: Sequence[Mapping[str, Any]], title: str) -> RenderableType:
    """Returns series with their figures, one a line, and histograms below where they are asked for."""
    if not series:
        return f"{title}: no series has such labels"
    table = Table(title=f"{title} ({series[0]['unit']})")
    labels = list(dict.fromkeys(key for one in series for key in one["labels"]))
    for key in labels:
        table.add_column(key, overflow="fold")
    for reduction in series[0]["values"]:
        table.add_column(reduction, justify="right")
    for one in series:
        figures = [number(value) for value in one["values"].values()]
        table.add_row(*(one["labels"].get(key, "") for key in labels), *figures)
    histograms = [line for one in series if "histogram" in one for line in _bars(one)]
    return Group(table, "\n".join(histograms)) if histograms else table


def number(value: float | None) -> str:
    """Returns a figure with as many digits as are of use."""
    return MISSING if value is None else f"{value:.6g}"


def _bars(one: Mapping[str, Any]) -> list[str]:
    edges, counts = one["histogram"]["edges"], one["histogram"]["counts"]
    labels = " ".join(f"{key}={value}" for key, value in one["labels"].items())
    most = max([1, *counts])
    lines = [labels] if labels else []
    for place, count in enumerate(counts):
        if len(counts) > len(edges):
            name = f"<= {edges[place]:.4g}" if place < len(edges) else f">  {edges[-1]:.4g}"
        else:
            name = f"{edges[place]:.4g} to {edges[place + 1]:.4g}"
        lines.append(f"{name:>24} {count:>9} {'#' * round(BAR * count / most)}")
    return lines
