"""Which test does what a block of the documentation says."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

import yaml

from .blocks import SHELL, Fenced, blocks

COUNTED: Final = ("bash", "sh", "python", "cpp", "cmake", "yaml", "json", "diff")
"""Languages whose blocks are to be accounted for; a ``text`` is what commands print."""
FILE: Final = Path(__file__).with_name("accounts.yaml")
ALL: Final = "all"


@dataclass(frozen=True)
class Account:
    """Tells about some blocks.

    Attributes:
      page: Their page, or a pattern of pages.
      languages: Of the blocks.
      holds: Text that they hold; empty for all of them.
      told: The test that runs them, as ``file::test``; or the line that their test passes over.
      number: How many blocks these are. None where the test itself goes over all of them, those to come too.
    """

    page: str
    languages: frozenset[str]
    holds: str
    told: str
    number: int | None

    def is_about(self, block: Fenced) -> bool:
        """Returns whether a block is one of them."""
        return fnmatch(block.page, self.page) and block.language in self.languages and self.holds in block.text


def lines_to_type(account: Account) -> list[str]:
    """Returns the lines of an account's one block of a shell, but for the one that its test passes over."""
    (block,) = [block for block in blocks(*SHELL) if account.is_about(block)]
    return [line for line in block.text.splitlines() if line != account.told]


def accounts(table: str, told: str, *, optional: bool = False) -> list[Account]:
    """Returns one of the file's tables.

    Args:
      table: ``run``, ``long`` or ``suites``.
      told: Name of what it tells: ``by`` or ``but``.
      optional: Whether an entry may do without it, and tell nothing.

    Raises:
      KeyError: An entry does without it that may not.
    """
    return list(_read(table, told, optional))


def _read(table: str, told: str, optional: bool) -> Iterator[Account]:
    for page, entries in yaml.safe_load(FILE.read_text(encoding="utf-8"))[table].items():
        for entry in entries:
            number = entry.get("number", 1)
            languages = frozenset(entry["in"].split())
            says = entry.get(told, "") if optional else entry[told]
            yield Account(page, languages, entry.get("with", ""), says, None if number == ALL else number)


RUN: Final = accounts("run", "by")
"""Blocks that the test of their page, or one elsewhere with the same words, really runs."""
LONG: Final = accounts("long", "but", optional=True)
"""Blocks that learn or measure for minutes; ``test_long_blocks`` types them."""
SUITES: Final = accounts("suites", "but", optional=True)
"""Blocks that run tests; ``test_suites`` types them."""
