"""docs/tutorials: what of them needs no Ray is done here, the rest in tests/e2e; the Chinese pages keep step."""

import os
import re
from pathlib import Path
from typing import get_args

import pytest

from app.projects.writing import Template
from deployments.port import free_port

from .readme import ROOT
from .tutorials import FOLDER, NAMED, RING, Reader, apply, page, steps

DOCS = ROOT / "docs"
CHINESE = DOCS / "zh"
WHOLE = ("deploy",)
"""Tutorials that tests/e2e follows from end to end in each test run; the others it does in longer ones."""
LONG = ("league", "imitation_rl")
"""Tutorials of which even the part without Ray takes long."""
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted([*FOLDER.glob("*.md"), *CHINESE.rglob("*.md")])
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)")
FENCE = re.compile(r"^```\w*$", re.MULTILINE)


def test_every_template_has_a_tutorial() -> None:
    assert {path.stem for path in FOLDER.glob("*.md")} == set(get_args(Template))


@pytest.mark.parametrize("template", get_args(Template))
def test_every_block_is_done_or_compared(template: str) -> None:
    text = page(template)
    found = steps(text)
    assert 2 * (len(found) + sum(bool(step.output) for step in found)) == len(FENCE.findall(text))
    assert {step.language for step in found} <= {"bash", "diff", "yaml", "python"}
    assert all(NAMED.match(step.text) for step in found if step.language in {"yaml", "python"})
    assert found[0].text.startswith(f"sparring new orchard --template {template}\n")
    for step in found:
        needs_ray = re.search(r"sparring (launch|league|models)|serve run|make (train|serve|core|cpp)|curl", step.text)
        assert (RING in step.how) >= (needs_ray is not None), step.text


@pytest.mark.slow
@pytest.mark.parametrize(
    "template",
    [
        pytest.param(name, marks=pytest.mark.long) if name in LONG else name
        for name in get_args(Template)
        if name not in WHOLE
    ],
)
def test_a_tutorial_does_what_it_says_as_far_as_it_needs_no_ray(template: str, tmp_path: Path) -> None:
    own = {"SPARRING_HOME": str(tmp_path / "sparring"), "NO_COLOR": "1", "COLUMNS": "200"}
    ports = {port: str(free_port()) for port in ("36390", "8000")}
    assert Reader(tmp_path, os.environ | own, ports).follow(template, ring=False) >= 5


def test_a_diff_changes_what_it_says_and_nothing_twice(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("one\ntwo\nthree\n")
    head = "--- a/a.py\n+++ b/a.py\n@@\n"
    apply(f"{head} one\n-two\n+2\n", tmp_path)
    assert file.read_text() == "one\n2\nthree\n"
    with pytest.raises(AssertionError, match="has 0 times"):
        apply(f"{head}-two\n+2\n", tmp_path)


@pytest.mark.parametrize("template", get_args(Template))
def test_a_chinese_tutorial_has_the_headings_and_the_very_blocks_of_the_english_one(template: str) -> None:
    chinese = (CHINESE / "tutorials" / f"{template}.md").read_text(encoding="utf-8")
    assert steps(chinese) == steps(page(template))
    assert levels(chinese) == levels(page(template))
    assert f"](../../tutorials/{template}.md)" in chinese
    assert f"](../zh/tutorials/{template}.md)" in page(template)


def test_the_chinese_quick_start_has_the_first_blocks_of_the_readme() -> None:
    blocks = steps((CHINESE / "quickstart.md").read_text(encoding="utf-8"))
    whole = [step for step in steps(README) if step.language != "text"]
    assert len(blocks) > 10
    assert blocks == whole[: len(blocks)]
    assert "](docs/zh/index.md)" in README


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_every_link_leads_to_a_file(path: Path) -> None:
    links = LINK.findall(path.read_text(encoding="utf-8"))
    assert links
    assert not [link for link in links if not (path.parent / link).exists()]


def levels(text: str) -> list[str]:
    """Returns the headings of a page without their words."""
    return re.findall(r"^#+(?= )", re.sub(r"^```\w+\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
