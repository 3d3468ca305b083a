"""A writer that is killed with signal 9: what was there before stays good, what it began is no checkpoint."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from app.models.folders import UNFINISHED
from tests.train.runs import Run
from train.checkpoint import Checkpoints, load_state

WRITER = """
import sys
import torch
from pathlib import Path
from train import checkpoint
from train.checkpoint import Checkpoints, LearnerState
from train.resume import Progress
from train.strategies.strategy import TrainedState

folder, stop_at = Path(sys.argv[1]), sys.argv[2]

def tell(word):
    print(word, flush=True)

def state(updates):
    trained = TrainedState({"w": torch.full((50_000,), float(updates))}, {"state": {"w": torch.ones(50_000)}})
    return LearnerState(Progress(trained), updates, 1, "0123", "run")

class Stops:
    def __reduce__(self):
        tell("inside torch.save")
        sys.stdin.read()  # For ever.

checkpoints = Checkpoints(folder)
checkpoints.save(state(1))
if stop_at == "learner":
    broken = state(2)
    broken.progress.trained.optimizer["state"]["x"] = Stops()
    checkpoints.save(broken)
if stop_at == "weights":
    def stop(path, *_):
        (path / "weights.safetensors").write_bytes(b"half of the weights")
        tell("before model.json")
        sys.stdin.read()
    checkpoint.write_model = stop
    checkpoints.save(state(2))
updates = 1
while True:
    updates += 1
    checkpoints.save(state(updates))
    tell(updates)
"""
TRAINER = """
import sys
import torch
from pathlib import Path
from tests.train.runs import Run
from train.checkpoint import Checkpoints

torch.set_num_threads(1)
run = Run(seed=0).train(3)
run.save(Checkpoints(Path(sys.argv[1])))
print("saved", flush=True)
while True:
    run.train(1)
"""
ROOT = Path(__file__).parents[2]
START_S = 40.0
"""Longest wait for the writer's next word: its import of torch takes seconds on a busy machine."""

pytestmark = pytest.mark.slow


@contextmanager
def writer(folder: Path, stop_at: str = "never", program: str = WRITER) -> Iterator[Callable[[], str]]:
    """Runs a process that writes checkpoints until it is killed, and gives what reads its next line."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(folder), stop_at],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )

    def line() -> str:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], START_S)
        assert ready, "the writer says nothing"
        return process.stdout.readline().decode().strip()

    try:
        yield line
    finally:
        process.send_signal(signal.SIGKILL)
        assert process.wait(START_S) == -signal.SIGKILL
        process.communicate()


@pytest.mark.parametrize(("stop_at", "said"), [("learner", "inside torch.save"), ("weights", "before model.json")])
def test_killed_in_the_middle_of_a_file_the_one_before_is_the_newest(stop_at: str, said: str, tmp_path: Path) -> None:
    with writer(tmp_path, stop_at) as line:
        assert line() == said
    (left,) = tmp_path.glob(f"{UNFINISHED}*")
    assert list(left.iterdir())  # It was under way.
    checkpoints = Checkpoints(tmp_path)
    found = checkpoints.newest_state()
    assert found is not None
    assert (found.updates, found.progress.trained.model["w"][0]) == (1, 1)
    checkpoints.save(found)
    assert not left.exists()


def test_killed_at_any_moment_every_checkpoint_that_is_there_is_whole(tmp_path: Path) -> None:
    with writer(tmp_path) as line:
        told = [int(line()) for _ in range(5)]
    whole = [load_state(path) for path in sorted(tmp_path.glob("[0-9]*"))]
    assert whole[-1].updates >= told[-1] == 6  # What was told of is there.
    assert all(float(found.progress.trained.model["w"][-1]) == found.updates for found in whole)


def test_a_run_that_was_killed_goes_on_bit_for_bit_as_if_it_had_not_been(tmp_path: Path) -> None:
    with writer(tmp_path, program=TRAINER) as line:
        assert line() == "saved"
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # As the killed one: sums of other parts would round otherwise.
    try:
        uninterrupted = Run(seed=0).train(4).bits()
        newest = Checkpoints(tmp_path).newest()
        assert newest is not None
        assert Run(seed=5, path=newest).train(1).bits() == uninterrupted
    finally:
        torch.set_num_threads(threads)
