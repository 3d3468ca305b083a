"""The shipped dashboards and alert rules as values: their panels, queries, and the names and labels in them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

FOLDER: Final = Path(__file__).parents[2] / "configs" / "dashboards"
ALERTS: Final = FOLDER / "alerts.yml"
ALERT_TESTS: Final = Path(__file__).parent / "alerts.test.yml"
RATE_INTERVAL: Final = "20s"
"""What Grafana puts in place of ``$__rate_interval`` where targets are scraped every five seconds."""

_METRIC = re.compile(r"\b((?:sparring|ray)_[a-z0-9_]+|up|scrape_duration_seconds)\b(\{[^}]*\})?")
_MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
_GROUPED = re.compile(r"\b(?:by|on|without)\s*\(([^)]*)\)")


class Query(NamedTuple):
    """One expression, and where it stands."""

    where: str
    expr: str


class Selected(NamedTuple):
    """A metric in an expression, with the labels that it is selected by."""

    metric: str
    matchers: tuple[tuple[str, str, str], ...]
    """Label, operator, value."""


def dashboards() -> dict[str, dict[str, Any]]:
    """Returns the dashboards by file name."""
    return {path.name: json.loads(path.read_text()) for path in sorted((FOLDER / "grafana").glob("*.json"))}


def panels() -> Iterator[tuple[str, dict[str, Any]]]:
    """Returns each chart with the file that it stands in."""
    for name, board in dashboards().items():
        yield from ((name, panel) for panel in board["panels"] if panel["type"] != "row")


def panel_queries() -> list[Query]:
    """Returns each query of each chart, with Grafana's variables filled in."""
    return [
        Query(f"{name}: {panel['title']}: {target['refId']}", filled(target["expr"]))
        for name, panel in panels()
        for target in panel["targets"]
    ]


def filled(expr: str) -> str:
    """Returns an expression as Grafana sends it when all jobs are chosen."""
    return expr.replace("$__rate_interval", RATE_INTERVAL).replace("$job", ".*")


def rules() -> list[dict[str, Any]]:
    """Returns the alert rules."""
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def selected(expr: str) -> list[Selected]:
    """Returns the metrics of an expression."""
    return [Selected(name, tuple(_MATCHER.findall(matchers))) for name, matchers in _METRIC.findall(expr)]


def grouped(expr: str) -> set[str]:
    """Returns the labels that an expression groups or joins by."""
    return {label.strip() for labels in _GROUPED.findall(expr) for label in labels.split(",") if label.strip()}
