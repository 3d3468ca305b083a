"""Training that cannot go on says why, and the service plays on with the weights that it has."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray

from app.errors import ModelMismatchError, PluginError, TrainingError
from app.logs.errors import Wanted
from app.models.module import hash_of

from .broken_models import another
from .service import RL, SMALL, Cluster, Service, observation, playing, wait_until
from .training import START_S, trainer, updates, wait_for_end

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Service]:
    with Service(cluster, "failures") as running:
        yield running


def failure(service: Service, home: Path, *overrides: str) -> str:
    """Returns why training failed while games were played."""
    run = trainer(service, home, *overrides)
    with playing(service.url):
        run.start()
        with pytest.raises(TrainingError) as caught:
            wait_for_end(run)
    return str(caught.value)


def test_an_error_in_the_users_network_ends_the_command_with_its_message_and_traceback(service: Service) -> None:
    words = [
        "--config",
        str(RL),
        *(word for override in (*SMALL, "run.trial=failures") for word in ("--set", override)),
    ]
    command = [sys.executable, "-m", "train", *words, "--set", "models.main.factory=broken_models:failing"]
    address = {"RAY_ADDRESS": ray.get_runtime_context().gcs_address}
    with playing(service.url):
        ended = subprocess.run(
            command, check=False, env=os.environ | address, capture_output=True, text=True, timeout=2 * START_S
        )
    assert ended.returncode == 1
    told = ended.stderr[ended.stderr.rindex("error: ") :]
    assert "ArithmeticError: the loss of [this] game [/is] wrong on purpose" in told
    assert 'broken_models.py", line' in told
    kept = service.trial.errors.newest_now(Wanted()).newest
    failed = {one.entry.process: str(one.entry.traceback) for one in kept if "on purpose" in one.entry.message}
    assert failed.keys() == {"learner main 0", "driver"}
    assert 'broken_models.py", line' in failed["learner main 0"]
    assert service.step(body=observation()).status_code == 200


@pytest.mark.long
def test_a_reward_without_bound_ends_training_and_earlier_weights_are_played_on(
    service: Service, tmp_path: Path
) -> None:
    run = trainer(service, tmp_path)
    run.start()
    with playing(service.url):
        updates(service, lambda found: len(found) > 3, "updates")
    absurd = [{"session": "absurd", "kind": "tick", "body": observation() | {"reward": 3e38}} for _ in range(600)]
    start = {"session": "absurd", "kind": "start"}
    assert service.http.post("/steps", json=[start, *absurd, absurd[0] | {"kind": "stop"}]).status_code == 200
    with playing(service.url), pytest.raises(TrainingError) as caught:
        wait_for_end(run)
    assert "NonFiniteLossError" in str(caught.value)
    assert "the weights before this step are good" in str(caught.value)
    newest = str(service.trial.weights("main").newest())
    wait_until(lambda: service.status()["versions"]["main"] == newest, "the last good weights are played")
    assert service.step(body=observation()).json()["action"] in (0, 1)


@pytest.mark.long
def test_a_checkpoint_that_cannot_be_written_ends_training_with_its_path(service: Service, tmp_path: Path) -> None:
    blocked = tmp_path / "failures" / "checkpoints" / "main"
    blocked.parent.mkdir(parents=True)
    blocked.write_text("a file where the folder should be")  # Permissions do not stop root.
    told = failure(service, tmp_path, "trainers.main.max_updates=2")
    assert f"cannot write checkpoint {blocked}" in told
    assert "SPARRING_HOME" in told


def test_a_network_of_other_shapes_is_refused_before_it_is_published(service: Service) -> None:
    weights = service.trial.weights("main")
    newest = weights.newest()
    with pytest.raises(ModelMismatchError, match="start both with one config"):
        weights.begin(hash_of(another()))
    assert weights.newest() == newest


def test_a_trainer_whose_network_cannot_be_built_says_so(service: Service, tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="'broken_models' has no 'nothing'"):
        trainer(service, tmp_path, "models.main.factory=broken_models:nothing")
