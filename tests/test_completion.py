"""Shells complete what was typed, and what one of them needs for that can be installed."""

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import typer

from app.command_line import GROUP, build_to_complete


def asked(home: Path, *words: str, **variables: str) -> str:
    env = os.environ | {"HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[1])} | variables
    script = "import sys; sys.argv[0] = 'sparring'; from app.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, *words], env=env, capture_output=True, text=True, check=True, timeout=50
    )
    return done.stdout


def test_a_shell_completes_commands_and_their_options(tmp_path: Path) -> None:
    names = asked(tmp_path, _SPARRING_COMPLETE="complete_bash", COMP_WORDS="sparring ne", COMP_CWORD="1")
    assert names.split() == ["new"]
    options = asked(tmp_path, _SPARRING_COMPLETE="complete_bash", COMP_WORDS="sparring new --t", COMP_CWORD="2")
    assert options.split() == ["--template"]
    values = "sparring new --template imi"
    found = asked(tmp_path, _SPARRING_COMPLETE="complete_bash", COMP_WORDS=values, COMP_CWORD="3")
    assert set(found.split()) == {"imitation", "imitation_rl"}


def test_it_is_installed_for_bash_under_the_name_of_the_command(tmp_path: Path) -> None:
    asked(tmp_path, "--install-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    script = tmp_path / ".bash_completions" / "sparring.sh"
    assert str(script) in (tmp_path / ".bashrc").read_text(encoding="utf-8")
    shell = ["bash", "--noprofile", "--norc", "-c", f"source {script} && complete -p sparring"]
    done = subprocess.run(shell, capture_output=True, text=True, check=True)
    assert "_sparring_completion" in done.stdout


def test_a_name_that_is_still_typed_imports_no_command() -> None:
    entries = {"heavy": EntryPoint("heavy", "this_module_must_not_be_imported:x", GROUP)}
    names = [command.name for command in build_to_complete(entries, ["hea"]).registered_commands]
    assert names == ["heavy"]
    assert isinstance(build_to_complete(entries, []), typer.Typer)
