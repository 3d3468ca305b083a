"""The fenced blocks of the documentation, and what each of them must hold whatever runs it."""

import ast
import importlib
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .readme import ROOT

FENCE = re.compile(
    r"(?:^<!-- test: (?P<how>[^>\n]*) -->\n)?^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^ *```$",
    re.DOTALL | re.MULTILINE,
)
SHELL = frozenset({"bash", "sh"})
BETWEEN = frozenset({"|", "||", "&&", ";", "&"})
"""What ends one command of a line and begins another."""
SUBSTITUTED = re.compile(r"\$\([^()]*\)|\$\{[^{}]*\}")
ASSIGNED = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True)
class Fenced:
    """One block.

    Attributes:
      page: File below the project's folder.
      line: Of its first line.
      language: Behind the fence.
      text: Without the fence and its indentation.
      how: Words of the comment before it, as ``readme.Block`` has them.
    """

    page: str
    line: int
    language: str
    text: str
    how: tuple[str, ...] = ()


def pages() -> list[Path]:
    """Returns what a reader is told to type or write: the README and all of docs, but for decisions that stand."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in found if path.parent.name != "adr"]


def blocks(*languages: str) -> list[Fenced]:
    """Returns all blocks in some languages, or in any."""
    return [block for path in pages() for block in _of_page(path) if not languages or block.language in languages]


def block_of(page: str, text: str, *languages: str) -> Fenced:
    """Returns the one block of a page that holds a text; of a shell where no languages are given."""
    (found,) = [block for block in blocks(*(languages or SHELL)) if block.page == page and text in block.text]
    return found


def commands(block: Fenced) -> Iterator[list[str]]:
    """Yields the words of each command in a shell's block, without assignments before it, comments and redirections."""
    for line in _lines(SUBSTITUTED.sub("SUBSTITUTED", block.text.replace("\\\n", " "))):
        words: list[str] = []
        for word in [*line, ";"]:
            if word not in BETWEEN:
                words.append(word)
                continue
            command = _bare(words)
            words = []
            if command:
                yield command


def unknown_names(source: str) -> list[str]:
    """Returns what Python code imports from this project or its packages and is not there.

    Raises:
      SyntaxError: It is no Python.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in {"app", "train"}:
            module = importlib.import_module(node.module)
            found += [f"{node.module}.{name.name}" for name in node.names if not hasattr(module, name.name)]
    return found


def _of_page(path: Path) -> Iterator[Fenced]:
    text = path.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        indent = len(match["indent"])
        own = "".join(line[indent:] if line.strip() else line for line in match["text"].splitlines(keepends=True))
        line = text.count("\n", 0, match.start("language")) + 2
        how = tuple((match["how"] or "").split())
        yield Fenced(str(path.relative_to(ROOT)), line, match["language"], own, how)


def _lines(text: str) -> Iterator[list[str]]:
    """Yields the words of each line; one whose quotes are open goes on in the next."""
    line = ""
    for part in text.splitlines():
        line = f"{line}\n{part}" if line else part
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:
            continue
        line = ""
        yield words


def _bare(words: list[str]) -> list[str]:
    start = 0
    while start < len(words) and ASSIGNED.match(words[start]):
        start += 1
    end = next((place for place, word in enumerate(words) if word in {">", ">>", "<", "<<"}), len(words))
    return words[start:end]
