"""Reads a tutorial's blocks and does them one after another, as a reader would, in a folder of its own."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .readme import ROOT, Block, Terminal, replaced, shows

FOLDER: Final = ROOT / "docs" / "tutorials"
BLOCK: Final = re.compile(
    r"(?:<!-- test: (?P<how>[^>]*) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)```\n(?:\n```text\n(?P<output>.*?)```\n)?",
    re.DOTALL,
)
NAMED: Final = re.compile(r"(?:#|//) (?P<path>[\w./]+)\n")
"""First line of a block that is a whole file."""
RING: Final = "ring"
"""Word of the comment before a block that needs Ray, or what such a block has left."""
PORTED: Final = ("configs/base.yaml", "serve_config.yaml", "Makefile")
"""Files of a project that name ports."""
LAUNCHES: Final = re.compile(r"^(\s*sparring launch .*)$", re.MULTILINE)
COMMAND_TIMEOUT_S: Final = 900.0


@dataclass(frozen=True)
class Step:
    """A block of a tutorial.

    Attributes:
      language: Of the block: ``bash`` is typed, ``diff`` changes a file, another one is a file.
      text: What stands in it.
      output: What the page shows behind it; empty where it shows nothing.
      how: Words of the comment before it: those of ``readme.Block``, and ``ring``.
    """

    language: str
    text: str
    output: str
    how: tuple[str, ...]


def steps(page: str) -> list[Step]:
    """Returns the blocks of a page, in its order."""
    found = (match.groupdict() for match in BLOCK.finditer(page))
    return [Step(b["language"], b["text"], b["output"] or "", tuple((b["how"] or "").split())) for b in found]


def page(template: str) -> str:
    return (FOLDER / f"{template}.md").read_text(encoding="utf-8")


class Reader:
    """Works through tutorials below one folder."""

    def __init__(self, folder: Path, env: Mapping[str, str], ports: Mapping[str, str]) -> None:
        """Keeps the names.

        Args:
          folder: An existing one, empty but for Ray's files.
          env: Environment of all commands.
          ports: Those of the page, and what takes their place.
        """
        self._folder, self._ports = folder, dict(ports)
        self._logs = folder / "logs"
        self._logs.mkdir()
        path = os.pathsep.join((str(Path(sys.executable).parent), env["PATH"]))
        self._env = dict(env) | {"PYTHONPATH": str(ROOT), "PATH": path}  # As an installed product's is.
        self._terminal = Terminal(folder, self._logs, self._env, COMMAND_TIMEOUT_S)

    def follow(self, template: str, *, ring: bool) -> int:
        """Does what a tutorial says, and returns how many blocks that were.

        Args:
          template: Name of the tutorial, which begins with ``sparring new``.
          ring: Whether blocks that need Ray are done, too.
        """
        return self.do([step for step in steps(page(template)) if ring or RING not in step.how])

    def do(self, all_steps: Sequence[Step]) -> int:
        """Does some blocks, of which the first makes the project, and returns how many these were."""
        first, *others = all_steps
        self._type(first)
        folder = self._folder / first.text.split()[2]
        self._take_ports(folder)
        self._terminal = Terminal(folder, self._logs, self._env, COMMAND_TIMEOUT_S)
        try:
            for step in others:
                self._do(step, folder)
        finally:
            self._terminal.stop_all()
        return 1 + len(others)

    def _do(self, step: Step, folder: Path) -> None:
        if step.language == "bash":
            self._type(step)
        elif step.language == "diff":
            apply(step.text, folder)
        else:
            write(replaced(step.text, self._ports), folder)

    def _type(self, step: Step) -> None:
        if "stop-all" in step.how:
            self._terminal.stop_all()
        how = tuple(self._ports.get(word, word) for word in step.how)
        output = self._terminal.do(Block(self._ported(step.text), step.output, how))
        assert shows(output, step.output), f"{step.text}\nprints\n{output}\ninstead of\n{step.output}"

    def _ported(self, text: str) -> str:
        return LAUNCHES.sub(rf"\1 --serve-port {self._ports['8000']}", replaced(text, self._ports))

    def _take_ports(self, folder: Path) -> None:
        for name in PORTED:
            file = folder / name
            file.write_text(self._ported(file.read_text(encoding="utf-8")), encoding="utf-8")


def write(text: str, folder: Path) -> None:
    """Writes a block that is a whole file, whose first line names it."""
    named = NAMED.match(text)
    assert named is not None, f"the first line of a file names it:\n{text}"
    (folder / named["path"]).write_text(text, encoding="utf-8")


def apply(diff: str, folder: Path) -> None:
    """Changes the one file of a diff, whose hunks begin with ``@@`` and tell no lines' numbers."""
    head, *hunks = re.split(r"^@@\n", diff, flags=re.MULTILINE)
    (name,) = re.findall(r"^\+\+\+ b/(\S+)$", head, re.MULTILINE)
    file = folder / name
    text = file.read_text(encoding="utf-8")
    for hunk in hunks:
        before, after = "".join(_side(hunk, "-")), "".join(_side(hunk, "+"))
        assert text.count(before) == 1, f"{name} has {text.count(before)} times\n{before}"
        text = text.replace(before, after)
    file.write_text(text, encoding="utf-8")


def _side(hunk: str, sign: str) -> Iterator[str]:
    """Yields the lines of a hunk as they are before it (``-``) or behind it (``+``)."""
    for line in hunk.splitlines(keepends=True):
        if line[0] in f"{sign} ":
            yield line[1:]
        else:
            assert line[0] in "+-", f"a line of a hunk begins with a space, + or -, not as in {line!r}"
