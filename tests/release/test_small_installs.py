"""The wheel in empty environments: the client alone, and with the extra ``cli``."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from app.extras import extra_of
from tests.client.background import service_in_thread

from .built import ROOT
from .environment import Environment, clean

pytestmark = pytest.mark.slow

COMMANDS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["sparring.commands"]
LARGEST_MB = 15.0
LONGEST_IMPORT_MS = 150.0
"""Of a core's time, which other processes do not change."""
IMPORT = "import time; began = time.process_time(); import app.client.sync; print(1e3 * (time.process_time() - began))"
READY = {"bridge", "check", "simulate"}
"""Commands that show their help with the extra ``cli`` alone, and need more when they are used."""
PLAY = """
import json, sys
from app.client.sync import Client

with Client(sys.argv[1], purpose="play") as client, client.start() as session:
    answers = [session.tick({"observation": [0.5, 1.0]}).value for _ in range(3)]
    session.stop({"terminated": True})
print(json.dumps([answers, sorted({"numpy", "torch", "ray", "typer"} & set(sys.modules))]))
"""
EVERY = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from app.cli import main

told = {}
for command in sys.argv[1:]:
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        try:
            main([command, "--help"] if command in HELPED else [command, "x"])
        except SystemExit as end:
            told[command] = [end.code, out.getvalue()]
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def client_only(archives: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return clean(tmp_path_factory.mktemp("client") / "venv", archives[0])


@pytest.fixture(scope="module")
def with_cli(archives: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return clean(tmp_path_factory.mktemp("cli") / "venv", archives[0], "cli")


def output(environment: Environment, home: Path, *words: str) -> str:
    done = environment.run(*words, home=home)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def refusals(environment: Environment, home: Path, helped: set[str]) -> dict[str, list[Any]]:
    """Returns how each command ends and what it says; of those in ``helped`` its help is asked for."""
    script = EVERY.replace("HELPED", repr(helped))
    return dict(json.loads(output(environment, home, "python", "-c", script, *COMMANDS)))


def test_the_client_alone_is_small(client_only: Environment) -> None:
    assert 1 < client_only.installed_mb() <= LARGEST_MB


def test_the_client_is_imported_quickly(client_only: Environment, tmp_path: Path) -> None:
    output(client_only, tmp_path, "python", "-c", IMPORT)  # Files come from the disk the first time.
    assert min(float(output(client_only, tmp_path, "python", "-c", IMPORT)) for _ in range(12)) <= LONGEST_IMPORT_MS


def test_the_client_alone_plays_a_game(client_only: Environment, tmp_path: Path) -> None:
    with service_in_thread() as service:
        said = output(client_only, tmp_path, "python", "-c", PLAY, service.url)
    answers, loaded = json.loads(said)
    assert [answer["action"] for answer in answers] == [1, 1, 1]
    assert loaded == []


def test_without_extras_each_command_names_the_one_that_it_needs(client_only: Environment, tmp_path: Path) -> None:
    told = refusals(client_only, tmp_path, set())
    assert len(told) == len(COMMANDS) > 25
    for command, (code, message) in told.items():
        assert code == 1
        assert message.startswith(
            f"`sparring {command}` needs more packages: pip install 'sparring[{extra_of(command)}]'"
        )
        assert message.count("\n") == 1


def test_without_extras_the_version_is_told_and_help_says_what_it_needs(
    client_only: Environment, tmp_path: Path
) -> None:
    assert output(client_only, tmp_path, "sparring", "--version").startswith("sparring ")
    asked = client_only.run("sparring", "--help", home=tmp_path)
    assert asked.returncode == 1
    assert "pip install 'sparring[cli]'" in asked.stderr
    module = client_only.run("python", "-m", "app.client", home=tmp_path)
    assert "pip install 'sparring[games]'" in module.stderr
    assert "Traceback" not in module.stderr


def test_with_cli_a_project_is_written_and_the_schema_shown(with_cli: Environment, tmp_path: Path) -> None:
    output(with_cli, tmp_path, "sparring", "new", "orchard", "--template", "rl")
    assert (tmp_path / "orchard" / "cpp" / "game_core.cpp").exists()
    assert json.loads(output(with_cli, tmp_path, "sparring", "schema"))["title"] == "ExperimentConfig"
    template = "project: fields\ntrial: first\nmode: train\nmain: {kind: model, module: a.b}\n"
    (tmp_path / "template.yaml").write_text(template)
    assert "project: fields" in output(with_cli, tmp_path, "sparring", "import-bray", "template.yaml")


def test_with_cli_alone_the_commands_of_servers_and_games_name_their_extra(
    with_cli: Environment, tmp_path: Path
) -> None:
    told = refusals(with_cli, tmp_path, {name for name in COMMANDS if extra_of(name) == "cli"} | READY)
    assert {command for command, (code, _) in told.items() if code == 0} >= READY
    later = {"bridge": ("rllink",), "check": (str(ROOT / "configs/rl.yaml"),), "simulate": ("--wait-s=1",)}
    for command, words in later.items():
        ended = with_cli.run("sparring", command, *words, home=tmp_path)
        told[command] = [ended.returncode, ended.stdout + ended.stderr]
    for command in told.keys() - {name for name in COMMANDS if extra_of(name) == "cli"}:
        assert told[command][0] == 1
        assert f"pip install 'sparring[{extra_of(command)}]'" in told[command][1]
        assert "Traceback" not in told[command][1]
