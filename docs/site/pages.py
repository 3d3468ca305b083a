"""Which pages the site has, and where each stands in its navigation."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Final

import yaml

NAVIGATION: Final = Path(__file__).with_name("navigation.yaml")
INDEX: Final = "docs/index"
"""The first page."""
SUFFIX: Final = ".md"
LEFT_OUT: Final = frozenset({"THIRD_PARTY_NOTICES"})
"""Texts beside the pages that are no page."""
_TITLED: Final = re.compile(r"(?P<title>.+) <(?P<name>.+)>")


@dataclass(frozen=True)
class Site:
    """The pages of a repository, by their paths without suffix, and the navigation.

    Attributes:
      pages: All of them.
      navigation: Under each page the sections of pages below it: names, names with a title, or patterns.
    """

    pages: frozenset[str]
    navigation: Mapping[str, Mapping[str, Sequence[str]]]

    @classmethod
    def of(cls, root: Path) -> "Site":
        """Returns the site of a folder: its Markdown files, and those below ``docs``."""
        files = [*root.glob(f"*{SUFFIX}"), *(root / "docs").rglob(f"*{SUFFIX}")]
        pages = {file.relative_to(root).as_posix().removesuffix(SUFFIX) for file in files}
        return cls(frozenset(pages) - LEFT_OUT, yaml.safe_load(NAVIGATION.read_text(encoding="utf-8")))

    def placed(self) -> list[str]:
        """Returns all pages of the navigation, a page as often as it stands there."""
        sections = [(page, title) for page in self.navigation for title in self.navigation[page]]
        return [INDEX, *(one for page, title in sections for one, _ in self.section(page, title))]

    def section(self, page: str, title: str) -> list[tuple[str, str]]:
        """Returns the pages of one section in order, each with its title there, empty for the page's own."""
        return [found for entry in self.navigation[page][title] for found in self._fitting(entry)]

    def toctrees(self, page: str) -> str:
        """Returns the Markdown that hangs the sections of a page below it; empty where it has none."""
        options = ":hidden:\n" if page == INDEX else ""
        text = ""
        for title in self.navigation.get(page, {}):
            if found := self.section(page, title):
                lines = "\n".join(f"{own} </{name}>" if own else f"/{name}" for name, own in found)
                text += f"\n\n```{{toctree}}\n:caption: {title}\n:maxdepth: 1\n{options}\n{lines}\n```\n"
        return text

    @cached_property
    def _named(self) -> frozenset[str]:
        """Returns what has a place by its name."""
        return frozenset(_name_and_title(entry)[0] for entry in self._entries())

    def _entries(self) -> Iterator[str]:
        for sections in self.navigation.values():
            for entries in sections.values():
                yield from entries

    def _fitting(self, entry: str) -> list[tuple[str, str]]:
        name, title = _name_and_title(entry)
        if name in self.pages:
            return [(name, title)]
        return [(one, "") for one in sorted(self.pages - self._named) if fnmatchcase(one, name)]


def _name_and_title(entry: str) -> tuple[str, str]:
    titled = _TITLED.fullmatch(entry)
    return (titled["name"], titled["title"]) if titled else (entry, "")
