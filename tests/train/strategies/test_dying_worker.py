"""A worker that dies inside a save: the checkpoint before stays valid, and the others do not hang (ray#46814)."""

import select
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.models.folders import UNFINISHED
from tests.train.strategies.workers import END_S, workers
from train.checkpoint import Checkpoints, load_state

if TYPE_CHECKING:
    import subprocess

pytestmark = pytest.mark.slow

PROGRAM = "tests.train.strategies.dying_program"


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], END_S)
    assert ready, "the worker says nothing"
    return process.stdout.readline().strip()


def tell(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("stop\n")
    process.stdin.flush()


@pytest.mark.parametrize("strategy", ["ddp", "fsdp", "deepspeed"])
def test_killed_inside_a_save_the_one_before_is_whole_and_the_others_end(strategy: str, tmp_path: Path) -> None:
    with workers(PROGRAM, 2, str(tmp_path), strategy) as (first, second):
        while not line(first).startswith("saved 2"):
            pass
        tell(second)
        while line(second) != "inside":
            pass
        second.kill()
        assert first.wait(END_S) != 0
        assert first.stderr is not None
        assert "RuntimeError" in first.stderr.read()  # Of gloo: the other is gone.
    newest = Checkpoints(tmp_path).newest()
    assert newest is not None
    assert load_state(newest).updates >= 2
    assert not list(tmp_path.glob(f"{UNFINISHED}*"))
    assert [load_state(path).updates for path in sorted(tmp_path.glob("[0-9]*"))][-1] == load_state(newest).updates
