"""``sparring evolve``: interrupted, resumed, and what is left of it."""

import json
import signal
import sqlite3
import sys
from contextlib import closing
from typing import Any

import pytest

from app.models.checkpoints import trainer_folder, updates_of, whole_checkpoints

from .commands import ROOT, Command, Place, wait_until

pytestmark = pytest.mark.e2e

SMALL = ("evolution.pairs=4", "evolution.evaluation.games=2", "evolution.evaluation.every_updates=1")


def start(place: Place, *words: str) -> Command:
    program = "import typer\nfrom train.evolution.commands import evolve\ntyper.run(evolve)"
    settings = [f"--set={setting}" for setting in SMALL]
    config = ROOT / "configs" / "es.yaml"
    return place.start(sys.executable, "-c", program, f"--config={config}", *settings, *words, PYTHONPATH=str(ROOT))


def result(command: Command) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command.output.splitlines()[-1])
    return found


@pytest.mark.long
def test_an_interrupted_evolution_has_saved_and_goes_on_to_its_goal(place: Place) -> None:
    command = start(place, "--set=evolution.goal=null", "--set=evolution.max_updates=1000000")
    command.until("updates 2 ")
    assert command.end(signal.SIGINT, 20) == 130, command.output
    assert "Traceback" not in command.output
    wait_until(lambda: not command.left_behind(), lambda: f"{command.left_behind()} end\n{command.output}", 10)

    home = place.folder / "sparring" / "cartpole"
    (saved,) = whole_checkpoints(trainer_folder(home / "es", "evolution"))
    assert updates_of(saved) >= 2

    resumed = start(place, "--resume", "--set=evolution.goal=1")
    assert resumed.process.wait(120) == 0, resumed.output
    found = result(resumed)
    assert (found["solved"], found["updates"]) == (True, updates_of(saved) + 1)
    assert logged(place) == {("FINISHED", found["updates"], found["mean_return"])}

    missed = start(place, "--resume", "--set=evolution.goal=501", f"--set=evolution.max_updates={found['updates']}")
    assert missed.process.wait(120) == 1, missed.output
    assert result(missed)["solved"] is False


def logged(place: Place) -> set[tuple[str, int, float]]:
    """Returns status, step and value of the evaluations of runs that ended by themselves."""
    query = """
        select runs.status, metrics.step, metrics.value from runs
        join metrics on metrics.run_uuid = runs.run_uuid and metrics.key = 'eval_return_mean'
        where runs.status = 'FINISHED'"""
    with closing(sqlite3.connect(place.folder / "sparring" / "cartpole" / "mlflow.db")) as store:
        return set(store.execute(query))
