import io

import pytest
from rich.console import Console

from app.errors import BadRequestError, ConfigError
from app.metrics.metric import Metric
from app.metrics.query import MetricQuery
from app.metrics.table import SeriesTable
from deployments.operate.metric_commands import query_of_words
from deployments.operate.metric_lines import names_shown, series_shown

WAIT = Metric("wait_seconds", "distribution", "s", "Time in the queue.", (0.1, 1.0))


def text_of(shown: object) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(shown)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def table() -> SeriesTable:
    found = SeriesTable()
    for actor, value in (("main", 0.05), ("main", 0.25), ("boss", 3.0)):
        found.add(WAIT, {"queue": actor}, value, 0.0)
    return found


def test_words_become_a_query() -> None:
    assert query_of_words("x", ["a=1", "b=c=d"], "a, b", "mean,p99", 60.0, "step") == MetricQuery(
        "x", {"a": "1", "b": "c=d"}, ("a", "b"), ("mean", "p99"), 60.0, "step"
    )
    assert query_of_words("x", [], None, "", None, "time").by is None
    assert query_of_words("x", [], "", "", None, "time").by == ()


def test_words_that_are_no_query_are_refused() -> None:
    with pytest.raises(ConfigError, match="--label is 'a'; allowed is K=V"):
        query_of_words("x", ["a"], None, "", None, "time")
    with pytest.raises(BadRequestError, match="allowed are time, step, samples"):
        query_of_words("x", [], None, "", None, "tick")


def test_series_are_lines_with_their_labels_and_figures() -> None:
    lines = text_of(
        series_shown(table().query(MetricQuery("wait_seconds", reduce=("mean", "max")), 0.0), "wait_seconds")
    )
    assert "wait_seconds (s)" in lines
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines.splitlines() if "│" in line]
    assert rows == [["boss", "3", "3"], ["main", "0.15", "0.25"]]


def test_a_histogram_shows_what_lies_beyond_its_last_bound() -> None:
    query = MetricQuery("wait_seconds", by=(), reduce=("histogram",))
    shown = text_of(series_shown(table().query(query, 0.0), "wait_seconds"))
    assert [line.split()[:3] for line in shown.splitlines() if "#" in line] == [
        ["<=", "0.1", "1"], ["<=", "1", "1"], [">", "1", "1"],
    ]  # fmt: skip


def test_names_are_listed_with_their_labels_and_meaning() -> None:
    shown = text_of(names_shown(table().names(), "pong.first"))
    assert all(word in shown for word in ("pong.first", "wait_seconds", "distribution", "queue", "Time in the queue."))


def test_labels_that_nobody_has_are_said_so() -> None:
    found = table().query(MetricQuery("wait_seconds", {"queue": "other"}), 0.0)
    assert text_of(series_shown(found, "wait_seconds")).strip() == "wait_seconds: no series has such labels"
