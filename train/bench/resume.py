"""``sparring bench resume``: seconds from the death of a learner worker to the next update."""

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import psutil

from app.config.active import active
from app.config.load import load
from app.config.root import ExperimentConfig
from app.home import HOME_VARIABLE
from deployments.port import free_port
from train.bench.cells import WINDOWS_MIN
from train.bench.machine import on_this_machine
from train.bench.service import BenchError
from train.bench.statistics import figure
from train.launch.cores import GameCores
from train.launch.ring import Ring
from train.launch.stopping import Stopper

if TYPE_CHECKING:
    from app.stores.metrics_values import Update
    from train.session import TrainingSession

T = TypeVar("T")

BACK_S_MAX: Final = 30.0
"""Aim."""
LIMIT_S: Final = 180.0
"""Longest wait for a start, or for training to go on."""
LEARNED: Final = 5
"""Updates between a start and the death of a worker: there is a checkpoint then."""
WORKER: Final = "ray::RayTrainWorker"
"""How Ray Train names the processes of its workers; the kernel shows the beginning."""
NAME_LENGTH: Final = 15
"""Characters of a process's name that the kernel keeps."""
LOOK_S: Final = 0.02
"""Seconds between two looks at the updates, which say themselves when they came."""


@dataclass(frozen=True, slots=True)
class ResumePlan:
    """What is measured."""

    runs: int = 5
    """Deaths of a worker."""
    workers: int = 2


def resume(plan: ResumePlan, stopper: Stopper, say: Callable[[str], None]) -> dict[str, object]:
    """Returns what the death of a learner worker costs.

    Args:
      plan: What is measured.
      stopper: Knows whether the user has asked to stop.
      say: Told what is measured next.

    Raises:
      SparringError: A part fails; the message is that part's own.
      InterruptedLaunchError: The user has asked to stop.
    """
    return on_this_machine("resume", lambda: _measure(plan, stopper, say))


def _measure(plan: ResumePlan, stopper: Stopper, say: Callable[[str], None]) -> dict[str, object]:
    say("starting service and trainer")
    with _training(plan, stopper) as session:
        backs, lost = [], []
        for run in range(plan.runs):
            before = _learned(session, LEARNED, stopper)
            say(f"death {run + 1} of {plan.runs}")
            killed_s = _kill_worker()
            begun, next_update = _gone_on(session, killed_s, stopper)
            backs.append(next_update.time_s - killed_s)
            lost.append(max(0, before - begun.number))
    return told_resumes(plan.workers, backs, lost)


def told_resumes(workers: int, seconds: Sequence[float], lost_updates: Sequence[int]) -> dict[str, object]:
    """Returns what the deaths of workers say.

    Args:
      workers: Learner workers.
      seconds: From each death to the next update that learned something.
      lost_updates: Updates done before each death that were done again.
    """
    back = figure(seconds)
    return {
        "workers": workers,
        "back_s": back.as_dict(),
        "back_s_max": round(max(seconds), 2),
        "lost_updates_max": max(lost_updates),
        "within": max(seconds) <= BACK_S_MAX,
        "measured": len(seconds) >= WINDOWS_MIN and back.measured,
    }


def resume_config(workers: int, port: int, config: Path) -> ExperimentConfig:
    """Returns the config that is trained by: the shipped one with more workers, small batches, and a save a second."""
    overrides = [
        "run.project=bench",
        "run.trial=resume",
        f"trainers.main.workers={workers}",
        "trainers.main.num_cpus=0.1",  # Ray Train refuses 0.
        "trainers.main.max_restarts=1000",
        "trainers.main.checkpoints.every_s=1",
        "trainers.main.inputs.0.batch_rows=256",
        "trainers.main.inputs.0.algorithm.minibatch_rows=128",
        "actors.main.num_cpus=0",
        f"actors.main.port={port}",
        "tracking.tensorboard=false",
    ]
    return active(load(config, overrides))


@contextmanager
def _training(plan: ResumePlan, stopper: Stopper) -> Iterator["TrainingSession"]:
    """Trains on games until the end of the block; then all processes are gone."""
    port = free_port()
    config = resume_config(plan.workers, port, Path("configs/rl.yaml"))
    if config.launch is None:
        raise BenchError("configs/rl.yaml has no launch section")
    with ExitStack() as stack:
        os.environ[HOME_VARIABLE] = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        ring = Ring(config, free_port(), LIMIT_S, stopper)
        stack.callback(ring.close)
        ring.start_ray()
        session = ring.start()
        cores = GameCores(config.launch.simulator, f"http://127.0.0.1:{port}", seed=1)
        stack.callback(cores.stop)
        cores.start()
        yield session


def _kill_worker() -> float:
    """Kills one worker as a machine would, and returns when, in Unix seconds."""
    children = psutil.Process().children(recursive=True)
    found = sorted(child.pid for child in children if child.name().startswith(WORKER[:NAME_LENGTH]))
    if not found:
        raise BenchError(f"no process is called {WORKER}; there are {sorted({child.name() for child in children})}")
    os.kill(found[-1], signal.SIGKILL)
    return time.time()


def _learned(session: "TrainingSession", updates: int, stopper: Stopper) -> int:
    """Waits for so many updates since the last start of the workers, and returns the number of the newest."""

    def enough() -> int | None:
        seen = _since_start(session.trial.metrics.updates_after(-1))
        return seen[-1].number if len(seen) > updates else None

    return _until(enough, f"{updates} updates", session, stopper)


def _gone_on(session: "TrainingSession", killed_s: float, stopper: Stopper) -> tuple["Update", "Update"]:
    """Waits for the first update after a restart; returns what the workers began with, and that update."""

    def back() -> tuple["Update", "Update"] | None:
        seen = _since_start(session.trial.metrics.updates_after(-1))
        return (seen[0], seen[1]) if len(seen) > 1 and seen[0].time_s > killed_s else None

    return _until(back, "an update after the restart", session, stopper)


def _since_start(updates: Sequence["Update"]) -> list["Update"]:
    """Returns the updates since the workers' last start, which tells of itself by one without metrics."""
    starts = [place for place, update in enumerate(updates) if not update.metrics]
    return list(updates[starts[-1] :]) if starts else []


def _until(look: Callable[[], T | None], what: str, session: "TrainingSession", stopper: Stopper) -> T:
    end_s = time.monotonic() + LIMIT_S
    while (found := look()) is None:
        stopper.check()
        if session.join(0):
            raise BenchError("training has ended by itself")
        if time.monotonic() > end_s:
            raise BenchError(f"{what}: not within {LIMIT_S:g} s")
        time.sleep(LOOK_S)
    return found
