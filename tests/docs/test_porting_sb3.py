"""docs/porting-sb3.md: its command imports, its commands have their options, and its config trains on."""

import json
import re
import shlex
import tempfile
from pathlib import Path

import pytest
import typer
import yaml
from typer.testing import CliRunner

from app.config.load import load
from deployments.port import free_port
from tests.train.porting.files import actor_critic, write
from train.porting.commands import import_sb3
from train.trying.trainers import try_trainer

from .blocks import blocks as fenced
from .readme import ROOT, Block, Terminal, blocks, change, reader_env, replaced, shows

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


@pytest.mark.e2e
def test_what_is_imported_is_served_played_and_exported_by_the_commands_of_the_page() -> None:
    (shown,) = [
        block.text for block in fenced("sh") if block.page == "docs/porting-sb3.md" and "serve run" in block.text
    ]
    ports = {port: str(free_port()) for port in ("36390", "8000")}
    serve, play, export = replaced(shown, ports).splitlines(keepends=True)
    two = {":type:": "<class 'gymnasium.spaces.discrete.Discrete'>", "n": "2", "start": "0", "_shape": []}
    with tempfile.TemporaryDirectory(prefix="sb3-", dir="/tmp", ignore_cleanup_errors=True) as name:
        root = Path(name)
        (root / "logs").mkdir()
        network = actor_critic(actions=2)
        write(root / "model.zip", network.state_dict(), action_space=two)
        terminal = Terminal(
            root, root / "logs", reader_env(root / "home") | {"RAY_TMPDIR": name, "PYTHONPATH": str(ROOT)}
        )
        terminal.run("sparring import-sb3 model.zip --to pilot")
        change(root / "pilot" / "config.yaml", actors__main__port=int(ports["36390"]))
        change(root / "pilot" / "serve_config.yaml", http_options__port=int(ports["8000"]))
        try:
            terminal.do(Block(serve, "", ("port", ports["36390"])))
            assert json.loads(terminal.run(play).splitlines()[-1])["episodes"] == 20
        finally:
            terminal.stop_all()
        terminal.run(export)
        assert list((root / "release").glob("*.onnx"))


def test_commands_and_keys_are_there(output: str) -> None:
    assert yaml.safe_load(Path("pilot/serve_config.yaml").read_text())["applications"][0]["name"] == "pilot"
    options = {"--" + name for name in ("to", "project", "normalise", "observation", "action")}
    used = {word for line in re.findall(r"sparring import-sb3 .*", PAGE) for word in line.split() if word[:2] == "--"}
    assert used <= options
    for key in ("clip_epsilon", "gae_lambda", "minibatch_rows", "entropy_coef", "value_coef", "unroll_ticks"):
        assert f'"{key}"' in (ROOT / "configs" / "schema.json").read_text(encoding="utf-8")
        assert f"`{key}`" in PAGE or f"{key}`" in PAGE
