"""Training on what was played before goes on after a stop, or a kill, as if there had been none: bit for bit."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from app.types import Arrays
from train.checkpoint import Checkpoints, load_state

from .demos import write_demos
from .service import Cluster, Service, wait_until
from .training import START_S, trainer

pytestmark = [pytest.mark.ray, pytest.mark.long]

DEMOS = (
    "trainers.main.inputs=[{source: demos, batch_rows: 128, algorithm: {kind: ppo, minibatch_rows: 64, epochs: 2}}]",
    "sources.demos={kind: npz, path: none, shuffle: {window: 4}}",
    "trainers.main.num_cpus=0.25",
)
UPDATES = 12
STOPPED = 5
END_S = 2 * START_S
"""Longest wait for a trainer that starts, and starts anew after a kill, on a busy machine."""


@pytest.fixture(scope="module", params=[1, 2])
def service(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Service]:
    demos, alive = tmp_path_factory.mktemp("demos"), tmp_path_factory.mktemp("alive")
    write_demos(demos, shards=3)
    (alive / "died").touch()
    model = ["models.main.factory=broken_models:Mortal", f"models.main.kwargs={{folder: {alive}, dies_at_pass: 27}}"]
    workers = [f"sources.demos.path={demos}", f"trainers.main.workers={request.param}"]
    with Service(cluster, f"exact{request.param}", *model, *DEMOS, *workers) as running:
        yield running


@pytest.fixture(scope="module")
def uninterrupted(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Arrays:
    home = tmp_path_factory.mktemp("uninterrupted")
    return trained(service, home, f"trainers.main.max_updates={UPDATES}")


def trained(service: Service, home: Path, *overrides: str, resume: bool = False) -> Arrays:
    """Returns the weights at the end of training."""
    run = trainer(service, home, *overrides, resume=resume)
    run.start()
    try:
        wait_until(lambda: run.join(0.1), "training ends", END_S)
    finally:
        run.stop()
        run.wait(START_S)
    return weights(service, home)


def weights(service: Service, home: Path) -> Arrays:
    """Returns the weights of the newest checkpoint, which is of the last update that was asked for."""
    newest = Checkpoints(home / service.trial_name / "checkpoints" / "main").newest()
    assert newest is not None
    state = load_state(newest)
    assert state.updates in (STOPPED, UPDATES)
    return {name: value.numpy() for name, value in state.progress.trained.model.items()}


def assert_equal(got: Arrays, wanted: Arrays) -> None:
    assert got.keys() == wanted.keys()
    for name, column in wanted.items():
        np.testing.assert_array_equal(got[name], column, err_msg=name)


def test_a_run_that_was_stopped_and_resumed_ends_with_the_same_weights(
    service: Service, uninterrupted: Arrays, tmp_path: Path
) -> None:
    stopped = trained(service, tmp_path, f"trainers.main.max_updates={STOPPED}")
    assert any((stopped[name] != uninterrupted[name]).any() for name in uninterrupted)
    got = trained(service, tmp_path, f"trainers.main.max_updates={UPDATES}", resume=True)
    assert_equal(got, uninterrupted)


def test_a_run_whose_worker_was_killed_ends_with_the_same_weights(
    service: Service, uninterrupted: Arrays, tmp_path: Path
) -> None:
    """It dies in its seventh update, of which each has four passes; the newest checkpoint is of the sixth."""
    changes = ("trainers.main.checkpoints={every_updates: 2}", f"models.main.kwargs.folder={tmp_path}")
    got = trained(service, tmp_path, f"trainers.main.max_updates={UPDATES}", *changes)
    assert (tmp_path / "died").exists()
    assert_equal(got, uninterrupted)
