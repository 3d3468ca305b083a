"""What dashboards and alerts ask for is there: names, labels, and the values of labels that are written out."""

import re
from pathlib import Path

import pytest

from app.errors import error_codes
from app.league.events import How
from app.metrics.names import METRICS
from app.types import Purpose
from tests.dashboards.boards import Query, Selected, dashboards, grouped, panel_queries, rules, selected
from tests.dashboards.recording import read_recording

QUERIES = [*panel_queries(), *(Query(rule["alert"], rule["expr"]) for rule in rules())]
SCRAPED = {"job", "instance"}
"""Labels that Prometheus adds."""
SUFFIXES = ("", "_bucket", "_sum", "_count")
SOURCES = Path(__file__).parents[2]


def declared() -> set[str]:
    """Returns the names of all series that there may be, as Prometheus stores them."""
    return {metric.name + suffix for metric in METRICS for suffix in SUFFIXES}


def labels() -> dict[str, set[str]]:
    """Returns the labels that each metric had in the recorded run."""
    found: dict[str, set[str]] = {}
    for series in read_recording():
        found.setdefault(series.parsed.metric, set()).update(label for label, _, _ in series.parsed.matchers)
    return found


def written() -> str:
    """Returns all of our own code, to look for the names of counters in."""
    files = (path for part in ("app", "deployments", "train") for path in (SOURCES / part).rglob("*.py"))
    return "\n".join(path.read_text() for path in files)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.where)
def test_a_query_asks_for_metrics_that_are_declared_or_were_recorded(query: Query) -> None:
    assert selected(query.expr)
    for one in selected(query.expr):
        known = declared() if one.metric.startswith("sparring_") else set(labels())
        assert one.metric in known, f"{query.where} asks for {one.metric}"


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.where)
def test_a_query_selects_and_groups_by_labels_that_its_metrics_have(query: Query) -> None:
    recorded = labels()
    asked = selected(query.expr)
    for one in asked:
        if one.metric in recorded:
            assert {label for label, _, _ in one.matchers} <= recorded[one.metric] | SCRAPED
    if all(one.metric in recorded for one in asked):
        together = set().union(*(recorded[one.metric] for one in asked)) | SCRAPED
        assert grouped(query.expr) <= together, query.expr


def values(one: Selected) -> list[tuple[str, str]]:
    """Returns the values that labels are compared with, alternatives apart."""
    found = []
    for label, _, text in one.matchers:
        match = re.fullmatch(r"(\w*)\((\w+(?:\|\w+)*)\)", text)
        texts = [match.group(1) + part for part in match.group(2).split("|")] if match else text.split("|")
        found += [(label, part) for part in texts if part != ".*"]
    return found


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.where)
def test_values_that_are_written_out_exist(query: Query) -> None:
    code = written()
    known = {"code": error_codes(), "purpose": set(map(str, Purpose)), "outcome": {*map(str, How), "opened"}}
    for one in selected(query.expr):
        for label, value in values(one):
            if label == "event":
                beginning = value.removesuffix(".+")  # What follows is a name of the user's config.
                in_pieces = re.compile(rf'f?"{beginning}"|f"{value.partition("_")[0]}_\{{')
                assert in_pieces.search(code), f"{query.where}: no counter is called {value}"
            elif label in known:
                assert value in known[label], f"{query.where}: {label} is never {value}"


def test_boards_are_found_by_their_files_and_panels_do_not_overlap() -> None:
    for name, board in dashboards().items():
        assert board["uid"] == f"sparring-{name.removesuffix('.json')}"
        assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
        taken: set[tuple[int, int]] = set()
        for panel in board["panels"]:
            at = panel["gridPos"]
            cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
            assert not cells & taken, f"{name}: {panel['title']}"
            assert at["x"] + at["w"] <= 24
            taken |= cells


def test_each_panel_says_what_it_shows_and_in_what_unit() -> None:
    for name, board in dashboards().items():
        for panel in board["panels"]:
            if panel["type"] != "row":
                assert panel["description"], f"{name}: {panel['title']}"
                assert panel["fieldConfig"]["defaults"]["unit"]
                assert all(target["legendFormat"] for target in panel["targets"])
