"""The table of faults and the runbook are of this code: tests, alerts, sections and links exist."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from app.config.reference import anchor
from tests.dashboards.boards import rules
from tests.docs.faults import FIELDS, PAGE, ROOT, faults, page

RUNBOOK = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
ALERTS = {rule["alert"]: rule for rule in rules()}
ASKED_FOR = {
    "Actor replica", "Model replica", "Gateway", "Learner rank", "Trainer job", "Buffer shard", "Weight store",
    "Directory", "League store", "Metrics store", "MLflow", "Ray head", "Game core", "Disk full", "Clock jump",
}  # fmt: skip
"""Parts that must have a row."""
rows = pytest.mark.parametrize("row", faults(), ids=lambda row: row["part"])


def names_in(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def sections(text: str) -> set[str]:
    return {anchor(title) for title in re.findall(r"^## (.+)$", text, re.MULTILINE)}


@rows
def test_each_row_is_proved_by_tests_that_exist(row: dict[str, Any]) -> None:
    assert row["proof"]
    for proof in row["proof"]:
        file, _, name = proof.partition("::")
        assert name.startswith("test_")
        assert name in names_in(ROOT / file), proof


@rows
def test_each_row_is_complete_and_told_by_an_alert_or_something_else(row: dict[str, Any]) -> None:
    assert all(row[field] for field in ("dies", *FIELDS))
    assert set(row["alarms"]) <= set(ALERTS)
    assert bool(row["alarms"]) != bool(row.get("otherwise"))


def test_no_part_is_missing() -> None:
    assert {row["part"] for row in faults()} >= ASKED_FOR


def test_the_page_is_that_of_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.docs.faults --write"


@pytest.mark.parametrize("alert", ALERTS)
def test_each_alert_names_its_section_of_the_runbook(alert: str) -> None:
    file, _, section = ALERTS[alert]["annotations"]["runbook"].partition("#")
    assert (file, section) == ("docs/runbook.md", alert.lower())
    body = RUNBOOK.partition(f"## {alert}\n")[2].partition("\n## ")[0]
    assert re.search(r"^1\. ", body, re.MULTILINE), "it says what to do"


def test_the_runbook_has_no_section_without_an_alert() -> None:
    assert sections(RUNBOOK) == {alert.lower() for alert in ALERTS}


def test_links_lead_to_sections_that_are_there() -> None:
    for text in (RUNBOOK, page()):
        for file, section in re.findall(r"\]\(([\w.-]*)#([\w-]+)\)", " ".join(text.split())):
            there = (ROOT / "docs" / file).read_text(encoding="utf-8") if file else text
            titles = re.findall(r"^#+ (.+)$", there, re.MULTILINE)
            assert section in set(map(anchor, titles)), f"{file}#{section}"
