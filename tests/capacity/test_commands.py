import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from app.capacity.commands import plan
from app.errors import PlanError
from tests.capacity import figures

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    machine = tmp_path / "machine.yaml"
    machine.write_text("{name: big, cores: 32, memory_gb: 128, network_gbit_s: 25, price_per_hour: 1.5}")
    return ["--measured", str(figures.written(tmp_path)), "--machine", str(machine)]


def run(words: list[str]) -> Result:
    cli = typer.Typer()
    cli.command()(plan)
    return CliRunner().invoke(cli, words)


def line_of(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return found


def test_a_plan_is_a_table_and_a_line(files: list[str]) -> None:
    result = run(["--games", "1000", *files, "--no-simulate"])
    assert result.exit_code == 0, result.output
    for text in ("2 × big, limited by loss of nodes", "actor replicas", "99 % answered", "an hour"):
        assert text in result.stderr
    line = line_of(result)
    assert (line["plan"]["nodes"], line["plan"]["price_per_hour"]) == (2, 3)
    assert (line["simulation"], line["problems"]) == (None, [])


def test_a_plan_is_played_through(files: list[str]) -> None:
    result = run(["--games", "200", *files, "--model", "none", "--learn", "--json", "--max-policy-lag", "50"])
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    simulated = line_of(result)["simulation"]
    assert simulated["ticks"]["before"]["tick_us"] == pytest.approx(70, rel=0.1)
    assert simulated["flow"]["updates_per_s"] > 0


def test_a_plan_that_does_not_hold_ends_with_1_and_says_why(files: list[str]) -> None:
    result = run(["--games", "1000", *files, "--no-simulate", "--latency-ms", "0.1"])
    assert result.exit_code == 1
    assert "wanted are 0.1" in result.stderr
    assert line_of(result)["problems"]


def test_a_config_says_how_training_goes(files: list[str]) -> None:
    config = ["--config", str(CONFIGS / "rl.yaml"), "--set", "buffers.rollouts.max_policy_lag=99"]
    result = run(["--games", "100", *files, *config, "--no-simulate"])
    assert result.exit_code == 0, result.output
    assert line_of(result)["plan"]["processes"]["learners"] == 1


def test_a_missing_figure_and_a_machine_too_small_are_errors(files: list[str]) -> None:
    assert isinstance(run(["--games", "10", *files, "--model", "cnn"]).exception, PlanError)
    assert isinstance(run(["--games", "10000000000", *files, "--no-simulate"]).exception, PlanError)


def test_an_option_out_of_its_bounds_is_wrong_usage(files: list[str]) -> None:
    assert run(["--games", "0", *files]).exit_code == 2
    assert run(["--games", "1", *files, "--transport", "pigeon"]).exit_code == 2
