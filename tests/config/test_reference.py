"""The page with every key of the config."""

import re
from pathlib import Path
from typing import Any

import pytest

from app.config.reference import anchor, reference
from app.config.reference_cells import allowed_of, default_of, kind_of, type_of, unit_of
from app.config.root import ExperimentConfig

PAGE = (Path(__file__).parents[2] / "docs" / "config-reference.md").read_text(encoding="utf-8")
SCHEMA = ExperimentConfig.model_json_schema()
CLASSES = SCHEMA["$defs"]
ROWS = [line for line in PAGE.splitlines() if line.startswith("| `")]


def section(title: str) -> str:
    found = re.search(rf"^##+ {re.escape(title)}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


def test_the_written_page_is_up_to_date() -> None:
    assert reference() == PAGE, "run: sparring schema --markdown --write docs/config-reference.md"


def test_it_has_a_row_for_each_key_of_each_class() -> None:
    keys = [key for node in (SCHEMA, *CLASSES.values()) for key in node.get("properties", {})]
    assert len(keys) > 700
    assert sorted(cells(row)[0].strip("`") for row in ROWS) == sorted(keys)


def test_each_row_tells_type_default_and_meaning() -> None:
    assert {len(cells(row)) for row in ROWS} == {5}
    assert [row for row in ROWS if not all(cells(row)[place] for place in (0, 1, 2, 4))] == []


def test_its_links_lead_to_its_headings_which_differ() -> None:
    headings = [anchor(title) for title in re.findall(r"^##+ (.*)$", PAGE, re.MULTILINE)]
    assert len(set(headings)) == len(headings)
    assert set(re.findall(r"\]\(#([^)]*)\)", PAGE)) <= set(headings)


def test_nothing_of_it_reads_as_html() -> None:
    assert re.findall(r"<\w", re.sub(r"`[^`]*`", "", PAGE)) == []


def test_a_key_is_told_as_its_class_has_it() -> None:
    limits, run = section("`actors.<name>.limits`"), section("`run`")
    assert "| `idle_timeout_s` | number, seconds | `60.0` | > 0 | " in limits
    assert "| `project` | text | required | lower snake case | " in run


def test_a_class_that_stands_in_several_places_tells_them_all() -> None:
    assert "Also `evolution.optimizer`." in section("`trainers.<name>.optimizer`, kind `adam`")
    assert "Also" not in section("`run`")


@pytest.mark.parametrize(
    ("node", "type_", "allowed"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 1024}, "integer", "≥ 1, ≤ 1,024"),
        ({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "null"}]}, "number or null", "> 0"),
        (
            {"type": "array", "minItems": 1, "items": {"enum": ["a", "b"]}},
            "list of text",
            "`a`, `b`, 1 or more entries",
        ),
        ({"type": "object", "patternProperties": {"^x$": {"type": "boolean"}}}, "mapping of boolean", ""),
        ({"type": "object", "additionalProperties": True}, "mapping of anything", ""),
        ({"type": "string", "pattern": r"^[\w.]+:\w+$"}, "text", "`package.module:name`"),
        ({"type": "string", "pattern": "^a|b$"}, "text", "`^a|b$`"),
        ({"$ref": "#/$defs/Kind"}, "[`fast`](#there)", ""),
        ({"$ref": "#/$defs/Choice"}, "text", "`left`"),
    ],
)
def test_types_and_bounds_are_those_of_the_schema(node: dict[str, Any], type_: str, allowed: str) -> None:
    classes = {"Kind": {"properties": {"kind": {"const": "fast"}}}, "Choice": {"enum": ["left"]}}
    assert type_of(node, classes, {"Kind": "there"}) == type_
    assert allowed_of(node, classes) == allowed


def test_of_a_default_that_is_a_class_only_what_differs_is_told() -> None:
    classes = {"Rate": {"properties": {"kind": {"const": "fixed"}, "every": {"default": 2}, "name": {"default": None}}}}
    node = {
        "anyOf": [{"$ref": "#/$defs/Rate"}, {"type": "null"}],
        "default": {"kind": "fixed", "every": 3, "name": None},
    }
    assert default_of(node, classes) == "`{kind: fixed, every: 3}`"
    assert default_of({"default": list(range(40))}, classes) == "see its section"
    assert default_of({"default": None}, classes) == "`null`"


def test_units_are_those_of_the_names() -> None:
    assert [unit_of(key) for key in ("wait_ms", "poll_s", "cache_mb", "batch_rows", "s")] == [
        ", milliseconds", ", seconds", ", MiB", "", ""
    ]  # fmt: skip


def test_kinds_choose_classes() -> None:
    assert kind_of(CLASSES["Ppo"]) == "kind `ppo`"
    assert kind_of(CLASSES["Run"]) == ""
