"""docs/porting-sb3.md: its command imports, its commands have their options, and its config trains on."""

import re
import shlex
from pathlib import Path

import pytest
import typer
import yaml
from typer.testing import CliRunner

from app.config.load import load
from tests.train.porting.files import actor_critic, write
from train.porting.commands import import_sb3
from train.trying.trainers import try_trainer

from .readme import ROOT, blocks, shows

PAGE = (ROOT / "docs" / "porting-sb3.md").read_text(encoding="utf-8")


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs the page's first command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    write(Path("model.zip").absolute(), actor_critic().state_dict())
    (block,) = blocks(PAGE)
    program, command, *words = shlex.split(block.commands)
    assert (program, command) == ("sparring", "import-sb3")
    cli = typer.Typer()
    cli.command()(import_sb3)
    result = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert shows(result.output, block.output), result.output
    return result.output


def test_what_is_imported_trains_on_with_the_config_that_is_shown(output: str) -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    path = Path("pilot/rl.yaml")
    path.write_text(shown, encoding="utf-8")
    config = load(path)
    assert config.models["main"].checkpoint == str(Path("pilot").absolute())
    assert not try_trainer(config, "main", updates=1).problems


def test_commands_and_keys_are_there(output: str) -> None:
    assert yaml.safe_load(Path("pilot/serve_config.yaml").read_text())["applications"][0]["name"] == "pilot"
    options = {"--" + name for name in ("to", "project", "normalise", "observation", "action")}
    used = {word for line in re.findall(r"sparring import-sb3 .*", PAGE) for word in line.split() if word[:2] == "--"}
    assert used <= options
    for key in ("clip_epsilon", "gae_lambda", "minibatch_rows", "entropy_coef", "value_coef", "unroll_ticks"):
        assert f'"{key}"' in (ROOT / "configs" / "schema.json").read_text(encoding="utf-8")
        assert f"`{key}`" in PAGE or f"{key}`" in PAGE
