"""``sparring try``: what it prints, and its exit code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.errors import ConfigError
from train.trying.commands import try_

RL = str(Path(__file__).parents[3] / "configs" / "rl.yaml")


def test_a_report_is_a_table_or_one_line_of_json() -> None:
    shown = CliRunner().invoke(try_, ["model", "main", "--config", RL, "--seconds", "0.01"])
    assert shown.exit_code == 0
    assert "parameters" in shown.output
    assert shown.output.rstrip().endswith("OK")
    told = CliRunner().invoke(try_, ["model", "main", "--config", RL, "--seconds", "0.01", "--json"])
    assert json.loads(told.output)["ok"] is True


def test_problems_end_with_1() -> None:
    result = CliRunner().invoke(try_, ["model", "tests.small_policy:broken_factory", "--json"])
    assert result.exit_code == 1
    assert json.loads(result.output)["problems"]


def test_overrides_without_a_config_are_refused() -> None:
    result = CliRunner().invoke(try_, ["model", "a:b", "--set", "run.seed=1"])
    assert isinstance(result.exception, ConfigError)


@pytest.mark.slow  # It starts Python anew.
def test_nothing_of_it_imports_ray() -> None:
    script = "import sys, train.trying.commands; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True, timeout=180)
    assert done.stdout.strip() == "False"
