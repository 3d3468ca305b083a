"""Every page has one place in the site's navigation, and Chinese is searched by pairs of characters."""

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def loaded(name: str) -> ModuleType:
    """Returns a module of ``docs/site``, which is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_site_{name}", ROOT / "docs" / "site" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


pages = loaded("pages")
SITE = pages.Site.of(ROOT)
LATER = ("docs/tutorials/", "docs/zh/", "README.zh")
"""Names that the navigation may have before their pages are there."""


def site(names: set[str], navigation: Mapping[str, Mapping[str, Sequence[str]]]) -> object:
    return pages.Site(frozenset(names), navigation)


def test_each_page_has_one_place() -> None:
    placed = SITE.placed()
    assert {"README", "CHANGELOG", "docs/faq", "docs/clients/cpp", "docs/adr/0006-layers"} <= set(placed)
    assert sorted(placed) == sorted(SITE.pages), "docs/site/navigation.yaml has no place, or two, for a page"


def test_the_navigation_names_no_page_that_is_gone() -> None:
    entries = [entry for sections in SITE.navigation.values() for found in sections.values() for entry in found]
    names = [entry.rpartition("<")[2].rstrip(">") for entry in entries if "*" not in entry]
    assert [name for name in names if name not in SITE.pages and not name.startswith(LATER)] == []


def test_pages_are_plain_markdown() -> None:
    for page in SITE.pages:
        assert "```{" not in (ROOT / f"{page}.md").read_text(encoding="utf-8"), page


def test_a_pattern_stands_for_pages_without_a_place_and_a_missing_page_is_left_out() -> None:
    navigation = {"docs/index": {"A": ["b", "gone"], "B": ["Cee <c>", "*"]}}
    assert site({"a", "b", "c", "d"}, navigation).placed() == ["docs/index", "b", "c", "a", "d"]  # type: ignore[attr-defined]


def test_sections_hang_below_their_page_and_empty_ones_do_not() -> None:
    made = site({"a", "b"}, {"docs/index": {"A": ["a", "Bee <b>"], "None": ["c"]}, "b": {"In": ["a"]}})
    text = made.toctrees("docs/index")  # type: ignore[attr-defined]
    assert text.split() == ["```{toctree}", ":caption:", "A", ":maxdepth:", "1", ":hidden:", "/a", "Bee", "</b>", "```"]
    assert ":hidden:" not in made.toctrees("b")  # type: ignore[attr-defined]
    assert made.toctrees("a") == ""  # type: ignore[attr-defined]


def test_what_may_be_wider_than_the_window_is_reached_by_keyboard() -> None:
    accessible = loaded("accessible").accessible
    assert accessible("<pre>x</pre>") == '<pre tabindex="0">x</pre>'
    assert accessible('<div class="table-wrapper a">') == '<div tabindex="0" class="table-wrapper a">'
    figure = '<img alt="图" src="../_images/overview.svg" />'
    assert accessible(f"<p>{figure}</p>") == f'<p tabindex="0">{figure}</p>'
    assert accessible('<p>x <img src="other.svg" /></p>') == '<p>x <img src="other.svg" /></p>'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Serve a model_1!", ["Serve", "a", "model_1"]),
        ("部署模型", ["部署", "署模", "模型"]),
        ("用Ray训练", ["用", "Ray", "训练"]),
        ("", []),
    ],
)
def test_words_are_english_ones_and_pairs_of_chinese_characters(text: str, words: list[str]) -> None:
    assert loaded("words").Words({}).split(text) == words
