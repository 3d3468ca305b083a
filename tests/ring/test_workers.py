"""Two data-parallel learner workers."""

import os
import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from train.checkpoint import Checkpoints, load_state

from .service import Cluster, Service, playing, wait_until
from .training import START_S, training, updates

pytestmark = [pytest.mark.ray, pytest.mark.long]

BACK_S = 180.0
"""Longest time from the death of a worker to the next update."""


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder where each worker writes down the digests of its parameters, a line a pass."""
    return tmp_path_factory.mktemp("watched")


@pytest.fixture(scope="module")
def service(cluster: Cluster, watched: Path) -> Iterator[Service]:
    model = ["models.main.factory=broken_models:watched", f"models.main.kwargs.folder={watched}"]
    with Service(cluster, "workers", "trainers.main.workers=2", *model) as running:
        yield running


def digests(folder: Path) -> dict[tuple[int, int], list[str]]:
    """Returns what each worker wrote down, by rank and process."""
    files = {tuple(map(int, path.name.split("-"))): path.read_text().splitlines() for path in folder.iterdir()}
    return {(rank, pid): lines for (rank, pid), lines in files.items()}


def test_workers_take_equal_steps_to_equal_parameters(service: Service, watched: Path, tmp_path: Path) -> None:
    with playing(service.url, games=32), training(service, tmp_path):
        seen = updates(service, lambda found: len(found) > 10, "updates")
    assert all(update.metrics["optimizer_steps"] == 4 for update in seen)
    first, second = digests(watched).values()
    assert len(first) == len(second) >= 10 * 4
    assert first == second
    assert len(set(first)) > 10


def test_training_goes_on_from_the_checkpoint_after_a_worker_is_killed(
    service: Service, watched: Path, tmp_path: Path
) -> None:
    checkpoints = Checkpoints(tmp_path / "workers" / "checkpoints" / "main")
    before = set(digests(watched))
    with playing(service.url, games=32), training(service, tmp_path, "trainers.main.checkpoints.every_s=0.5") as run:
        saved = wait_until(lambda: updates_of(checkpoints.newest()), "a checkpoint", START_S)
        generation = _generation(service)
        os.kill(next(pid for rank, pid in set(digests(watched)) - before if rank == 1), signal.SIGKILL)
        wait_until(lambda: _generation(service) > generation, "weights of the restarted workers are played", BACK_S)
        restarted = wait_until(lambda: first_after_restart(service), "an update after the restart", BACK_S)
        updates(service, lambda found: found[-1].number > restarted + 3, "updates")
        assert run.running()
    assert restarted >= saved
    assert [rank for rank, _ in sorted(set(digests(watched)) - before)] == [0, 0, 1, 1]


def updates_of(checkpoint: Path | None) -> int:
    """Returns the update of a checkpoint that is worth restoring; 0 where there is none yet."""
    updates_done = 0 if checkpoint is None else load_state(checkpoint).updates
    return updates_done if updates_done > 5 else 0


def first_after_restart(service: Service) -> int:
    """Returns the number that restarted workers began with, which had been reached before; 0 where none did."""
    numbers = [update.number for update in service.trial.metrics.updates_after(0)]
    return next((later for earlier, later in pairwise(numbers) if later <= earlier), 0)


def _generation(service: Service) -> int:
    return int(service.status()["versions"]["main"].split(".")[0])
