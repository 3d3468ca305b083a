"""Builds the site and looks through what came out: ``python -m tests.docs.site build/docs``."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

ROOT: Final = Path(__file__).parents[2]
CONF: Final = ROOT / "docs" / "site"
BUILD_TIMEOUT_S: Final = 500
LOADED_LINKS: Final = {"stylesheet", "icon", "shortcut", "preload", "modulepreload", "prefetch"}
"""What a browser fetches when it meets it as the ``rel`` of a ``link``."""


@dataclass
class Page:
    """What one HTML file has and asks for.

    Attributes:
      anchors: What a link may end with.
      links: Where its links lead.
      loads: What a browser fetches to show it.
    """

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value is not None}
        if "id" in values:
            self.page.anchors.add(values["id"])
        if tag == "a" and "href" in values:
            self.page.links.append(values["href"])
        if tag == "link" and LOADED_LINKS & set(values.get("rel", "").split()):
            self.page.loads.append(values["href"])
        if tag != "a" and "src" in values:
            self.page.loads.append(values["src"])


def build(target: Path, root: Path = ROOT) -> str:
    """Builds the site of a repository, and returns what Sphinx complains of; empty where all is well.

    Args:
      target: Folder of the site.
      root: The repository; what is made of its pages is as ``docs/site`` here says.
    """
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-E", "-a", "-W", "--keep-going", "-c", str(CONF)]
    command += ["-d", str(target.parent / f"{target.name}-trees"), str(root), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=BUILD_TIMEOUT_S)
    return done.stderr if done.returncode else ""


def problems(site: Path) -> list[str]:
    """Returns what is wrong with a built site: a link, an anchor or a file that is not there, another host's file."""
    pages = {file: read(file) for file in sorted(site.rglob("*.html"))}
    found = [problem for file in pages for problem in _of(file, pages, site)]
    return found + [f"{file.relative_to(site)} loads from another host" for file in _styles_of_others(site)]


def read(file: Path) -> Page:
    """Returns what an HTML file has and asks for."""
    reader = _Reader()
    reader.feed(file.read_text(encoding="utf-8"))
    return reader.page


def _of(file: Path, pages: dict[Path, Page], site: Path) -> Iterator[str]:
    name = file.relative_to(site)
    for address in pages[file].loads:
        if problem := _wrong_load(file, address):
            yield f"{name} loads {address}, {problem}"
    for address in pages[file].links:
        parts = urlsplit(address)
        away = parts.scheme or parts.netloc
        if problem := _wrong_address(address) if away else _wrong_link(file, address, pages):
            yield f"{name} links to {address}, {problem}"


def _wrong_load(file: Path, address: str) -> str:
    if address.startswith("data:"):
        return ""
    if urlsplit(address).netloc:
        return "which another host has"
    return "" if _target(file, address).is_file() else "which is not there"


def _wrong_address(address: str) -> str:
    parts = urlsplit(address)
    fine = parts.scheme in {"http", "https"} and parts.hostname and " " not in address
    return "" if fine else "which is no address"


def _wrong_link(file: Path, address: str, pages: dict[Path, Page]) -> str:
    parts = urlsplit(address)
    target = _target(file, address) if parts.path else file
    if not target.is_file():
        return "which is not there"
    known = not parts.fragment or unquote(parts.fragment) in pages.get(target, Page()).anchors
    return "" if known else "where no such anchor is"


def _target(file: Path, address: str) -> Path:
    return (file.parent / unquote(urlsplit(address).path)).resolve()


def _styles_of_others(site: Path) -> list[Path]:
    styles = [(file, file.read_text(encoding="utf-8")) for file in sorted(site.rglob("*.css"))]
    marks = ("url(http", "url('http", 'url("http', "url(//", "@import")
    return [file for file, text in styles if any(mark in text for mark in marks)]


if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    wrong = build(folder) or "\n".join(problems(folder))
    if wrong:
        sys.exit(wrong)
    print(f"{folder / 'index.html'}")  # noqa: T201
