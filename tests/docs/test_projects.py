"""docs/projects.md: its commands do what it says, and its table of templates is the code's."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import get_args

import pytest
import typer
from typer.testing import CliRunner

from app.projects.commands import new
from app.projects.writing import Template
from train.trying.commands import try_

from .readme import ROOT, blocks

PAGE = (ROOT / "docs" / "projects.md").read_text(encoding="utf-8")
FIRST, TRIED = blocks(PAGE)


def test_the_table_names_every_template_and_every_component() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert named == set(get_args(Template))
    commands = typer.main.get_command(try_).commands  # type: ignore[attr-defined]
    assert set(re.findall(r"^\| `try (\w+) ", PAGE, re.MULTILINE)) == set(commands)


def test_the_project_of_the_page_is_written_and_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cli = typer.Typer()
    cli.command()(new)
    words, change, _, *makes = (shlex.split(line) for line in FIRST.commands.splitlines())
    assert words[:2] == ["sparring", "new"]
    result = CliRunner().invoke(cli, words[2:])
    assert result.exit_code == 0, result.output
    for make in makes:
        shown = subprocess.run([*make, "-n"], cwd=change[1], capture_output=True, text=True, check=True)
        assert "sparring" in shown.stdout or "pytest" in shown.stdout or "serve run" in shown.stdout


@pytest.mark.parametrize("line", TRIED.commands.splitlines())
def test_what_the_page_tries_has_no_problems(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    program, group, *words = shlex.split(line)
    assert (program, group) == ("sparring", "try")
    result = CliRunner().invoke(try_, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_its_python_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    (shown,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(shown, {})  # noqa: S102  # Our own page.
    assert int(capsys.readouterr().out) > 0
