"""Training on what was played before: one worker and two, to the end of the data, and what is refused before."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from app.errors import SourceError
from app.stores.metrics_values import Update
from train.run import TrainingRun

from .demos import write_demos
from .service import Cluster, Service
from .training import trainer, wait_for_end

pytestmark = pytest.mark.ray

ROWS = 128
DEMOS = (
    "trainers.main.inputs=[{source: demos, batch_rows: 128, algorithm: {kind: a2c, minibatch_rows: 128}}]",
    "sources.demos.kind=npz",
)


@pytest.fixture(scope="module")
def service(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    demos = tmp_path_factory.mktemp("demos")
    write_demos(demos, shards=3)
    with Service(cluster, "sources", *DEMOS, f"sources.demos.path={demos}", "sources.demos.epochs=2") as running:
        yield running


def learned(service: Service, run: TrainingRun) -> list[Update]:
    """Trains until the data are at their end."""
    run.start()
    try:
        assert wait_for_end(run)
    finally:
        run.stop()
    return service.trial.metrics.updates_after(0)


def test_training_ends_with_the_data_and_each_step_was_learned_from(service: Service, tmp_path: Path) -> None:
    seen = learned(service, trainer(service, tmp_path))
    assert sum(update.metrics.get("rows", 0) for update in seen) == 2 * 8 * 20 * (1 + 2 + 3)
    assert not any("lag_max" in update.metrics for update in seen)


@pytest.mark.long
def test_two_workers_with_unequal_shards_take_equal_steps(service: Service, tmp_path: Path) -> None:
    seen = learned(service, trainer(service, tmp_path, "trainers.main.workers=2", "trainers.main.num_cpus=0.25"))
    numbers = [update.number for update in seen]
    # Worker 0 has the shards of 8 and 24 episodes, worker 1 that of 16: it ends first.
    assert numbers[-1] * ROWS >= 2 * 16 * 20
    assert numbers[-1] * (ROWS - 1) <= 2 * 16 * 21 + 2 * ROWS


@pytest.mark.long
def test_one_worker_learns_from_what_two_have_left_and_from_nothing_twice(service: Service, tmp_path: Path) -> None:
    two = ("trainers.main.workers=2", "trainers.main.num_cpus=0.25", "trainers.main.max_updates=4")
    first = learned(service, trainer(service, tmp_path, *two))
    second = learned(service, trainer(service, tmp_path, resume=True))
    assert first[-1].number == 4
    before, after = (sum(update.metrics.get("rows", 0) for update in seen) for seen in (first, second))
    # Told are the rows of worker 0; in shards of equal episodes the batches of the other one hold as many.
    assert 2 * before + after == 2 * 8 * 20 * (1 + 2 + 3)


@pytest.mark.long
def test_batches_are_preprocessed_in_the_stream(service: Service, tmp_path: Path) -> None:
    rows = 64
    stored = np.arange(rows * 6, dtype=np.float64).reshape(rows, 6)
    ends = np.arange(rows) % 16 == 15
    np.savez(
        tmp_path / "raw.npz", observation=stored, action=np.zeros(rows, int), reward=np.ones(rows), terminated=ends
    )
    changes = (
        f"sources.demos.path={tmp_path}/raw.npz",
        "sources.demos.preprocess=demos:halved",
        "sources.demos.epochs=8",
    )
    seen = learned(service, trainer(service, tmp_path, *changes))
    assert sum(update.metrics.get("rows", 0) for update in seen) == 8 * rows


def test_data_that_do_not_fit_are_refused_before_anything_starts(service: Service, tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", observation=np.zeros((2, 3)), action=[0, 2], reward=[0, 0], terminated=[False, True])
    with pytest.raises(SourceError, match=r"bad\.npz, rows from 0: observation is float64 of shape \(3,\); allowed"):
        trainer(service, tmp_path, f"sources.demos.path={tmp_path}/bad.npz")
    with pytest.raises(SourceError, match=r"sources\.demos\.path: there is no file"):
        trainer(service, tmp_path, f"sources.demos.path={tmp_path}/none.npz")
    with pytest.raises(
        SourceError, match=r"preprocess demos:halved: observation .* allowed is float32 of shape \(4,\)"
    ):
        trainer(service, tmp_path, f"sources.demos.path={tmp_path}/bad.npz", "sources.demos.preprocess=demos:halved")
