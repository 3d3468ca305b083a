"""``sparring search``: trials that are stopped early, populations that copy weights, and what is left of them."""

import json
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.config.load import load

from .commands import GONE_S, ROOT, START_S, Command, Place, wait_until
from .objectives import read

pytestmark = pytest.mark.e2e

RATE = "trainers.main.optimizer.learning_rate"
SEARCH = """
extends: [{rl}]
run: {{project: searched, trial: climb}}
search:
  objective: tests.e2e.objectives:climb
  space: {{{space}}}
  metric: height
  trials: 8
  updates: 16
  report_every_updates: 1
  seed: 1
"""


RATES = f"{RATE}: {{kind: uniform, low: 0.1, high: 1.0}}"


def start(place: Place, *settings: str, space: str = RATES) -> Command:
    path = place.folder / "search.yaml"
    path.write_text(SEARCH.format(rl=ROOT / "configs" / "rl.yaml", space=space))
    program = "import typer\nfrom train.search.commands import search\ntyper.run(search)"
    words = [f"--set={setting}" for setting in settings]
    return place.start(sys.executable, "-c", program, f"--config={path}", *words, PYTHONPATH=str(ROOT))


def ended(command: Command) -> dict[str, Any]:
    assert command.process.wait(2 * START_S) == 0, command.output
    result: dict[str, Any] = json.loads(command.output.splitlines()[-1])
    return result


def test_asha_stops_at_least_half_of_the_trials_early_and_finds_the_best(place: Place) -> None:
    result = ended(start(place, "search.scheduler={kind: asha, grace_updates: 2, reduction_factor: 2}"))
    assert (result["trials"], result["failed"]) == (8, 0)
    assert result["stopped_early"] >= 4
    assert result["finished"] == 8 - result["stopped_early"] > 0

    children = runs(place, result["mlflow_run"])
    assert len(children) == 8
    assert [status for status, _ in children.values()].count("KILLED") == result["stopped_early"]
    rates = [float(rate) for _, rate in children.values()]
    assert result["best_values"][RATE] == max(rates)  # Whoever climbs fastest is ahead at every rung.
    assert result["best_metric"] == pytest.approx(16 * max(rates))

    best = load(Path(result["best_config"]))
    assert (best.trainers["main"].optimizer.learning_rate, best.search) == (max(rates), None)
    assert read(Path(result["best_checkpoint"]))[2] == [result["best_trial"]]


@pytest.mark.long
def test_a_population_larger_than_what_trains_at_once_copies_weights_through_checkpoints(place: Place) -> None:
    population = "search.scheduler={kind: pbt, every_updates: 4, quantile: 0.5}"
    result = ended(start(place, population, "search.trials=4", "search.concurrent=2"))
    assert (result["trials"], result["finished"], result["failed"]) == (4, 4, 0)
    assert result["copies"] >= 1
    folder = Path(result["best_config"]).parent
    newest = [max(trial.glob("checkpoint_*")) for trial in sorted(folder.glob("trial_*"))]
    assert max(len(read(checkpoint)[2]) for checkpoint in newest) > 1  # A height that belonged to two.
    assert 0.1 <= result["best_values"][RATE] <= 1.0


@pytest.mark.long
def test_a_trial_that_fails_is_told_and_the_others_go_on(place: Place) -> None:
    command = start(place, "search.trials=2", space=f"{RATES}, run.seed: {{kind: grid, values: [1, 13]}}")
    result = ended(command)
    assert (result["finished"], result["failed"], result["best_values"]["run.seed"]) == (1, 1, 1)
    assert "seed 13 brings bad luck" in command.output


def test_ctrl_c_ends_a_search_and_all_that_it_started(place: Place) -> None:
    command = start(place, "search.updates=1000000", "search.report_every_updates=1000")
    command.until("updates 1000 ")
    assert command.end(signal.SIGINT, 20) == 130, command.output
    assert "Traceback" not in command.output
    wait_until(lambda: not command.left_behind(), lambda: f"{command.left_behind()} end\n{command.output}", GONE_S)


def runs(place: Place, parent: str) -> dict[str, tuple[str, str]]:
    """Returns status and learning rate of the runs below a run, by id."""
    query = """
        select runs.run_uuid, runs.status, params.value from runs
        join tags on tags.run_uuid = runs.run_uuid and tags.key = 'mlflow.parentRunId' and tags.value = ?
        join params on params.run_uuid = runs.run_uuid and params.key = ?"""
    with closing(sqlite3.connect(place.folder / "sparring" / "searched" / "mlflow.db")) as store:
        return {run: (status, rate) for run, status, rate in store.execute(query, (parent, RATE))}
