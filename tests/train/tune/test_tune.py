import json
from pathlib import Path

import pytest

from app.config.load import load
from app.errors import ConfigError
from train.tune import commands
from train.tune.tune import Plan, TuneError, tune

RL = Path(__file__).parents[3] / "configs" / "rl.yaml"


def test_a_model_of_a_config_is_measured_at_each_size_and_the_best_can_be_set() -> None:
    said: list[str] = []
    result = tune(load(RL), Plan("main", latency_ms=1e4, max_rows=4, seconds=0.01), said.append)
    sizes = result["sizes"]
    assert isinstance(sizes, list)
    assert [size["rows"] for size in sizes] == [1, 2, 4]
    assert said == [f"float32, batches of {rows}" for rows in (1, 2, 4)]
    best = result["best"]
    assert best in sizes
    changed = load(RL, [str(result["set"])])
    assert changed.models["main"].batching.max_rows == best["rows"]  # type: ignore[index]


def test_a_latency_that_no_size_keeps_is_an_error_with_the_quickest() -> None:
    with pytest.raises(TuneError, match=r"within 0 ms; the quickest is one of \d at float32"):
        tune(load(RL), Plan("main", latency_ms=0, max_rows=2, seconds=0.01), lambda _: None)


def test_a_model_that_is_not_in_the_config_is_named() -> None:
    with pytest.raises(ConfigError, match="no model named 'other'; there are: main"):
        tune(load(RL), Plan("other", 2, 2, 0.01), lambda _: None)


def test_the_command_prints_one_json_line(capsys: pytest.CaptureFixture[str]) -> None:
    commands.tune(RL, "main", 1e4, 2, 0.01, None, json=True)
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert json.loads(line)["tune"] == "main"


def test_the_command_prints_what_to_set(capsys: pytest.CaptureFixture[str]) -> None:
    commands.tune(RL, "main", 1e4, 2, 0.01, None, json=False)
    printed = capsys.readouterr()
    assert printed.out.startswith("models.main.batching.max_rows=")
    assert "best" in printed.err
