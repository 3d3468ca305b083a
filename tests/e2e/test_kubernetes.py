"""The manifests' commands with their arguments, environment and probes, as one machine can run them."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from app.client.sync import Client, Session
from tests.leaks import holding

from .commands import Place, wait_until
from .kubernetes import HEAD, MASTER_KEY, NODES, TOKEN, TRAIN_KEY, Pods

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(1200)]

GAMES = 12
STATE = {"observation": [0.01, 0.02, 0.03, 0.04], "reward": 1.0}


@pytest.fixture
def pods(place: Place) -> Iterator[Pods]:
    pods = Pods(place)
    yield pods
    pods.close()


def test_the_pods_serve_train_and_go_without_losing_a_game(pods: Pods) -> None:
    place = pods.place
    pods.deploy()
    for node in NODES:
        wait_until(lambda node=node: pods.probes(pods.group(node), node, "readinessProbe"), lambda: pods.told, 300)
    assert pods.probes(pods.group(HEAD), HEAD, "readinessProbe")

    mlflow = f"http://localhost:{pods.mlflow_port}"  # One of the hosts that it is told to answer.
    assert httpx.get(f"{mlflow}/health").status_code == 200
    inside = {"Host": f"sparring-mlflow:{pods.mlflow_port}"}
    assert httpx.get(f"{mlflow}/api/2.0/mlflow/experiments/search?max_results=1", headers=inside).status_code == 200

    assert httpx.get(f"{place.url}/metrics").status_code == 401
    metrics = httpx.get(f"{place.url}/metrics", headers={"Authorization": f"Bearer {MASTER_KEY}"})
    assert "sparring_replica_up" in metrics.text

    job = pods.job("--set", "trainers.main.max_updates=2")
    with Client(place.url, key=TRAIN_KEY) as client, ThreadPoolExecutor(4) as threads:
        while job.process.poll() is None:
            list(threads.map(lambda number: _play(client, number), range(4)))
    assert job.process.returncode == 0, job.output
    assert "registered version 1 of main as the champion" in job.output, job.output
    found = httpx.get(f"{mlflow}/api/2.0/mlflow/registered-models/get?name=cartpole.main").json()
    assert {"alias": "champion", "version": "1"} in found["registered_model"]["aliases"]

    with Client(place.url, key=TRAIN_KEY, purpose="play") as client:
        games = [client.session(game=f"game-{number}") for number in range(GAMES)]
        for game in games:
            game.start()
            _tick(game)
        assert pods.pre_stop(NODES[1]).startswith(f"drained {NODES[1]}: 1 replicas")
        pods.nodes[NODES[1]].process.terminate()
        pods.nodes[NODES[1]].process.wait(60)
        for game in games:
            _tick(game)
            game.stop()
        assert sum(game.resumes for game in games) == 0
    status = place.run("sparring", "status", "--json", **pods.env(pods.group(HEAD), HEAD))
    counts = json.loads(status.stdout.splitlines()[-1])["trials"][0]["counts"]
    assert counts.get("games_lost", 0) == 0
    # Logs of all processes, checkpoints, MLflow's files: none has a secret.
    assert holding(place.folder, (TOKEN, MASTER_KEY, TRAIN_KEY), but=[pods.keys]) == []


def _play(client: Client, number: int) -> None:
    with client.start(game=f"train-{number}") as session:
        for _ in range(64):
            _tick(session)


def _tick(session: Session) -> None:
    assert session.tick(STATE).value["action"] in (0, 1)
