"""docs/models.md: its configs load, its commands are understood, its table of names is the code's."""

import re
import shlex
from pathlib import Path

import pytest
import typer
import yaml

from app.config.load import load
from train.driver import parser
from train.model_commands import models

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
LINES = [line.strip() for line in PAGE.splitlines()]
TRAIN = [line for line in LINES if line.startswith("python -m train")]
MODELS = [line.partition("   ")[0] for line in LINES if line.startswith("sparring models ")]


def test_the_page_shows_every_command() -> None:
    group = typer.main.get_command(models)
    assert {shlex.split(line)[2] for line in MODELS} == set(group.commands)  # type: ignore[attr-defined]
    assert len(TRAIN) == 4


@pytest.mark.parametrize("line", MODELS)
def test_its_commands_are_understood(line: str) -> None:
    name, *words = shlex.split(line)[2:]
    command = typer.main.get_command(models).commands[name]  # type: ignore[attr-defined]
    assert command.make_context(name, words).params["config"].name == "rl.yaml"


@pytest.mark.parametrize("line", TRAIN)
def test_its_starts_are_understood(line: str) -> None:
    assert parser().parse_args(shlex.split(line)[3:]).restore == line.rsplit(maxsplit=1)[-1]


def test_its_configs_load(tmp_path: Path) -> None:
    found = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert len(found) >= 2
    for number, text in enumerate(found):
        path = tmp_path / f"{number}.yaml"
        path.write_text(yaml.safe_dump({"extends": [str(ROOT / "configs" / "rl.yaml")], **yaml.safe_load(text)}))
        load(path)
