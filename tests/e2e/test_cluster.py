"""A Ray cluster of the user's own: ``ray start``, ``serve run``, ``ray job submit`` and game cores."""

import json
import signal
from collections.abc import Iterator

import httpx
import numpy as np
import pytest

from app.stores.mlflow_store import ModelRegistry, tracking_uri

from .commands import BIN, START_S, Place, wait_until
from .machine import Machine

pytestmark = pytest.mark.e2e

STATES = np.random.default_rng(1).uniform(-1, 1, (30, 4)).tolist()
TRAIN = ("python", "-m", "train", "--config", "configs/rl.yaml")


@pytest.fixture
def machine(place: Place) -> Iterator[Machine]:
    machine = Machine(place)
    service = machine.serve_run()
    yield machine
    machine.close(service)


def test_a_job_trains_what_the_service_plays_and_leaves_a_champion(machine: Machine) -> None:
    place = machine.place
    core = place.start(str(BIN / "python"), "-m", "app.client", f"--url={place.url}", "--games=16")
    untrained = answers(place)
    assert untrained[0] == "0.0"
    pid = _pid(place)

    job = machine.job(*TRAIN)
    wait_until(lambda: answers(place)[0].startswith("1."), lambda: job.output, START_S)
    wait_until(lambda: answers(place)[1] != untrained[1], lambda: job.output, START_S)
    version, _ = answers(place)
    wait_until(lambda: answers(place)[0] != version, lambda: job.output, START_S)
    assert _pid(place) == pid  # New weights, no restart.

    name = next(word for word in job.output.split() if word.strip("'").startswith("raysubmit_")).strip("'")
    stopped = place.run("ray", "job", "stop", name, **machine.reach)
    assert stopped.returncode == 0, stopped.stderr
    job.process.wait(60)
    assert "registered version 1 of main as the champion" in job.output, job.output
    root = place.folder / "sparring" / "cartpole"
    folder = ModelRegistry(tracking_uri(None, root), root).download("models:/cartpole.main@champion", place.folder)
    assert json.loads((folder / "model.json").read_text())["factory"] == "app.games.cartpole.model:build"

    assert core.end(signal.SIGTERM, 10) == 0
    played = json.loads(core.output.splitlines()[-1])
    assert played["errors"] == played["lost_games"] == 0


def answers(place: Place) -> tuple[str, list[int]]:
    """Returns which version answers at present, and its most probable actions."""
    with httpx.Client(base_url=place.url, timeout=30) as http:
        started = http.post("/step", headers={"step_kind": "start", "purpose": "evaluate"})
        session = {"session": started.headers["session"]}
        found = [http.post("/step", headers=session, json={"observation": state}) for state in STATES]
        http.post("/step", headers=session | {"step_kind": "stop"})
    return found[0].headers["policy_version"], [answer.json()["action"] for answer in found]


def _pid(place: Place) -> int:
    return int(httpx.get(f"{place.url}/status", timeout=30).json()["pid"])
