"""The example notebook runs as it stands, and Ctrl-C in a notebook leaves nothing behind."""

import os
from pathlib import Path
from unittest.mock import patch

import nbformat
import pytest
from nbclient import NotebookClient

from app.models.checkpoints import whole_checkpoints

from .commands import END_S, ROOT, Place, listens, wait_until
from .kernel import kernel

pytestmark = pytest.mark.e2e

NOTEBOOK = ROOT / "docs" / "cartpole.ipynb"


def opening(place: Place) -> str:
    """Returns the line that opens the experiment, on this test's ports."""
    settings = f'"configs/rl.yaml", "actors.main.port={place.game_port}", "launch.goal.mean_return=1000"'
    return f"Experiment.from_yaml({settings}, serve_port={place.serve_port})"


def test_the_example_notebook_runs_from_top_to_bottom(place: Place) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    for cell in notebook.cells:
        cell.source = cell.source.replace('Experiment.from_yaml("configs/rl.yaml")', opening(place))
    with patch.dict(os.environ, place.env | {"PYTHONPATH": str(ROOT)}, clear=True):
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
    said = ["".join(output.get("text", "") for output in cell.get("outputs", [])) for cell in notebook.cells]
    assert any("updates" in text and "6" in text for text in said)
    assert any("models:/cartpole.main/1" in text for text in said)
    action = next(cell for cell in notebook.cells if cell.source.endswith("action")).outputs[-1]
    assert action["data"]["text/plain"] in ("0", "1")
    assert not listens(place.game_port)
    assert Path(place.folder / "sparring" / "cartpole" / "rl" / "clones").is_dir()


@pytest.mark.long
def test_ctrl_c_in_a_notebook_leaves_nothing_behind_and_the_next_cell_runs(place: Place) -> None:
    with kernel(place) as running:
        assert running.run(f"from train.experiment import Experiment\ne = {opening(place)}")["status"] == "ok"
        ended = running.run_until("e.train()", r"updates [1-9]")
        assert (ended["status"], ended.get("ename")) == ("error", "KeyboardInterrupt")
        wait_until(lambda: not running.children(), lambda: f"{running.children()} end", END_S)
        assert not listens(place.game_port)
        folder = place.folder / "sparring" / "cartpole" / "rl" / "checkpoints" / "main"
        assert whole_checkpoints(folder)
        assert running.run("e.check()")["status"] == "ok"
