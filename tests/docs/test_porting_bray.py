"""docs/porting-bray.md: its command converts, and its table names every kind of section."""

import re
import shlex
from pathlib import Path

import pytest
import typer
import yaml
from typer.testing import CliRunner

from app.config.load import load
from app.porting.bray_file import KINDS
from app.porting.commands import import_bray
from tests.porting.templates import template

from .readme import ROOT, blocks, shows

PAGE = (ROOT / "docs" / "porting-bray.md").read_text(encoding="utf-8")


def test_its_command_converts_a_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("template.yaml").write_text(yaml.safe_dump(template(), sort_keys=False), encoding="utf-8")
    (block,) = blocks(PAGE)
    program, command, *words = shlex.split(block.commands.splitlines()[0])
    assert (program, command) == ("sparring", "import-bray")
    cli = typer.Typer()
    cli.command()(import_bray)
    result = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert result.exit_code == 0
    assert shows(result.output, block.output), result.output
    assert load(Path("ours.yaml")).run.project == "shooter_game"


def test_the_table_names_every_kind() -> None:
    assert set(re.findall(r"`kind: (\w+)`", PAGE)) >= set(KINDS)
