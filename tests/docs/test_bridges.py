"""docs/bridges.md: examples run, commands exist with their options, the config loads."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from app.agents.told_agent import ToldAgent
from app.bridges.commands import bridge
from app.bridges.rllink.weights import renamed
from app.config.load import load
from app.games.cartpole.model import build
from app.models.module import to_arrays
from app.plugins import load_plugin
from tests.client.background import service_in_thread

from .readme import shows

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "bridges.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"(?<!-->\n)```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"```sh\nsparring bridge (.*?)\n```", PAGE)


def test_every_example_and_command_is_found() -> None:
    assert len(EXAMPLES) == PAGE.count("```text") == 3
    assert {command.split()[0] for command in COMMANDS} == {"godot", "unity", "rllink"}


@pytest.mark.parametrize(("program", "documented"), EXAMPLES)
def test_an_example_does_what_it_says(program: str, documented: str) -> None:
    with service_in_thread() as service:
        program = program.replace("http://127.0.0.1:36390", service.url)
        command = [sys.executable, "-c", program]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    assert shows(done.stdout, documented), done.stdout
    assert all(session.stopped for session in service.sessions.values())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_the_options_that_it_is_shown_with(command: str) -> None:
    name, *words = shlex.split(command)
    group = get_command(bridge)
    context = group.make_context("bridge", [name, *words], resilient_parsing=True)
    found = group.get_command(context, name)  # type: ignore[attr-defined]  # A group, as it was made.
    assert found is not None
    made = found.make_context(name, list(words))
    assert made.params["url"] == "http://127.0.0.1:36390"


def test_the_config_and_the_names_are_those_of_cartpole(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "told.yaml"
    path.write_text(yaml.safe_dump({"extends": [str(ROOT / "configs" / "rl.yaml")], **yaml.safe_load(shown)}))
    config = load(path)
    assert load_plugin(config.agents["told"].factory) is ToldAgent
    (names,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    arrays = renamed(to_arrays(build()), json.loads(names))
    assert arrays["encoder.actor_encoder.net.mlp.2.weight"].shape == (64, 64)
    assert arrays["pi.net.mlp.0.weight"].shape == (2, 64)
