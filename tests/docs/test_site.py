"""The site builds without a complaint, and all its links lead somewhere."""

from pathlib import Path

import pytest

from tests.docs.site import ROOT, build, problems, read


@pytest.mark.slow
def test_the_site_builds_strictly_and_its_links_anchors_and_files_are_there(tmp_path: Path) -> None:
    site = tmp_path / "site"
    assert build(site) == ""
    assert problems(site) == []
    names = {file.relative_to(site).as_posix() for file in site.rglob("*.html")}
    pages = list((ROOT / "docs").rglob("*.md"))
    assert len(pages) > 90
    assert {page.relative_to(ROOT).with_suffix(".html").as_posix() for page in pages} <= names
    assert read(site / "index.html").links == ["docs/index.html"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[gone](gone.md)", "gone.md"),
        ("[there](other.md#no-such-heading)", "no-such-heading"),
        ("![picture](picture.png)", "picture.png"),
        ("nothing", "toctree"),
    ],
)
def test_what_leads_nowhere_fails_the_build(text: str, complaint: str, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text(f"# First\n\n{'' if text == 'nothing' else text}\n")
    (docs / "faq.md").write_text("# Other\n\n## A heading\n")
    (docs / ("nowhere.md" if text == "nothing" else "concepts.md")).write_text("# One more\n")
    if "other" in text:
        (docs / "index.md").write_text("# First\n\n[there](faq.md#no-such-heading)\n")
    assert complaint in build(tmp_path / "built", tmp_path)


def write(site: Path, body: str) -> list[str]:
    (site / "there.html").write_text('<h1 id="a%b">There</h1><img src="data:image/png;base64,">')
    (site / "page.html").write_text(f'<html><body id="top">{body}</body></html>')
    return problems(site)


def test_links_that_lead_somewhere_are_no_problem(tmp_path: Path) -> None:
    (tmp_path / "x.css").write_text("p { background: url(data:image/png;base64,) }")
    body = """<a href="there.html#a%25b">1</a> <a href="#top">2</a> <a href="https://example.org/a#b">3</a>
        <link rel="stylesheet" href="x.css?v=1"><link rel="next" href="https://example.org/"><a href="#">4</a>"""
    assert write(tmp_path, body) == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="gone.html">x</a>', "page.html links to gone.html, which is not there"),
        ('<a href="there.html#b">x</a>', "page.html links to there.html#b, where no such anchor is"),
        ('<a href="#b">x</a>', "page.html links to #b, where no such anchor is"),
        ('<a href="htp://example.org">x</a>', "page.html links to htp://example.org, which is no address"),
        ('<a href="https:///x">x</a>', "page.html links to https:///x, which is no address"),
        ('<img src="no.png">', "page.html loads no.png, which is not there"),
        ('<script src="//cdn.example/x.js"></script>', "page.html loads //cdn.example/x.js, which another host has"),
        (
            '<link rel="icon" href="https://cdn.example/x.ico">',
            "page.html loads https://cdn.example/x.ico, which another host has",
        ),
    ],
)
def test_what_leads_nowhere_and_what_another_host_has_are_told(body: str, problem: str, tmp_path: Path) -> None:
    assert write(tmp_path, body) == [problem]


def test_a_style_that_loads_from_another_host_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.css").write_text('@font-face { src: url("https://fonts.example/x.woff2") }')
    assert problems(tmp_path) == ["x.css loads from another host"]
