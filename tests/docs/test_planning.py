"""docs/planning.md: its example runs and prints what it says, its benchmarks and options are understood."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml

from app.capacity.commands import plan
from app.capacity.machine import Machine, read_machine
from app.capacity.reading import read_measured
from train.bench.commands import bench

from .readme import ROOT, blocks, shows

PAGE = (ROOT / "docs" / "planning.md").read_text(encoding="utf-8")
FOLDER = ROOT / "docs" / "planning"
MEASURING, PLANNING = blocks(PAGE)


def test_the_example_prints_what_the_page_shows() -> None:
    command = [sys.executable, "-m", "app", *shlex.split(PLANNING.commands)[1:]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    output = done.stderr + done.stdout
    assert shows(output, PLANNING.output), output


def test_the_shown_machine_is_the_one_beside_the_page(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert Machine.model_validate(yaml.safe_load(shown)) == read_machine(FOLDER / "machine.yaml")
    assert set(yaml.safe_load(shown)) == set(Machine.model_fields)


def test_the_benchmarks_measure_all_that_a_plan_needs() -> None:
    found = read_measured([FOLDER / "measured.jsonl"])
    assert found.cells_of("http")
    assert found.cartpole_of("http")
    assert found.learner("ddp", 1.0).samples_per_s > 0
    assert (found.row_cases(), found.publish_times(), found.remote_model(), found.decision("cnn")) != ()
    assert found.session_memory_kib() > 0
    assert found.pushed() > 0


@pytest.mark.parametrize("line", MEASURING.commands.splitlines())
def test_the_benchmarks_are_understood(line: str) -> None:
    words = shlex.split(line.partition(">>")[0])
    assert words[:2] == ["sparring", "bench"]
    command = typer.main.get_command(bench)
    assert isinstance(command, typer.core.TyperGroup)
    assert command.commands[words[2]].make_context(words[2], words[3:]).params["json"]


def test_the_options_that_the_page_names_exist() -> None:
    cli = typer.Typer()
    cli.command()(plan)
    known = {name for parameter in typer.main.get_command(cli).params for name in parameter.opts}
    named = set(re.findall(r"`(--[a-z-]+)", PAGE)) - {"--cells", "--cartpole", "--memory", "--local", "--remote"}
    assert named - known - {"--help"} == set()
