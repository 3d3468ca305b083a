"""docs/algorithms.md: its evolution is a config, its commands are understood, its metrics are those that are told."""

import re
import shlex
from pathlib import Path

import typer

from app.config.load import load
from tests.train.evolution.small import InTurn, small
from train.evolution.commands import evolve
from train.evolution.run import EvolutionRun

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "algorithms.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Evolution strategies\n")[2].partition("\n## ")[0]


def test_the_shown_evolution_is_the_shipped_one(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", SECTION, re.DOTALL)
    path = tmp_path / "es.yaml"
    path.write_text(shown.replace("[base.yaml]", f"[{ROOT / 'configs' / 'base.yaml'}]"))
    assert load(path).evolution == load(ROOT / "configs" / "es.yaml").evolution


def test_its_commands_are_understood() -> None:
    cli = typer.Typer()
    cli.command()(evolve)
    command = typer.main.get_command(cli)
    lines = [line for line in SECTION.splitlines() if line.startswith("sparring evolve")]
    assert len(lines) == 2
    for line in lines:
        parameters = command.make_context("evolve", shlex.split(line)[2:]).params
        assert load(ROOT / parameters["config"], parameters["set_"] or []).evolution is not None


def test_its_metrics_are_those_of_an_update(tmp_path: Path) -> None:
    told: set[str] = set()
    run = EvolutionRun(
        small("evolution.max_updates=1"), tmp_path, InTurn(), lambda _, found: told.update(found), None, 0.0
    )
    run.run()
    assert told
    assert {name for name in told if f"`{name}`" not in SECTION} == set()
