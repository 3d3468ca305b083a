"""A Ray cluster of the user's own: ``ray start``, ``serve run``, ``ray job submit`` and game cores."""

import json
import signal
from collections.abc import Iterator

import httpx
import numpy as np
import pytest
import yaml

from app.stores.mlflow_store import ModelRegistry, tracking_uri

from .commands import BIN, GONE_S, ROOT, Command, Place, free_port, listens, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

STATES = np.random.default_rng(1).uniform(-1, 1, (30, 4)).tolist()
TRAIN = ("python", "-m", "train", "--config", "configs/rl.yaml")


class Machine:
    """A running head with the service on it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.dashboard, gcs = free_port(), free_port()
        self.reach = {
            "RAY_ADDRESS": f"127.0.0.1:{gcs}",
            "RAY_API_SERVER_ADDRESS": f"http://127.0.0.1:{self.dashboard}",
            "RAY_AUTH_MODE": "token",
        }
        generated = place.run("ray", "get-auth-token", "--generate")
        assert generated.returncode == 0, generated.stderr
        self.head = place.start(
            "ray", "start", "--head", "--block", f"--port={gcs}", f"--dashboard-port={self.dashboard}",
            f"--dashboard-agent-listen-port={free_port()}", f"--ray-client-server-port={free_port()}",
            "--num-cpus=4", f"--object-store-memory={512 * 2**20}", f"--temp-dir={place.folder / 'ray'}",
            "--disable-usage-stats",
            RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S="1",  # The stores outlive the service, so it would wait in vain.
        )  # fmt: skip
        wait_until(lambda: listens(self.dashboard), lambda: self.head.output, 60)
        self.service = place.start("serve", "run", str(self._serve_config()), **self.reach)
        wait_until(lambda: listens(place.game_port), lambda: self.service.output, 90)

    def job(self, *words: str) -> Command:
        """Submits a job whose output the command shows until it ends."""
        patient = json.dumps({"env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": "60"}})  # By itself Ray kills after 3 s.
        submit = ("ray", "job", "submit", f"--runtime-env-json={patient}", "--working-dir", ".")
        return self.place.start(*submit, "--", *words, **self.reach)

    def close(self) -> None:
        self.service.end(signal.SIGINT, 40)
        self.head.end(signal.SIGTERM, 40)

    def _serve_config(self) -> object:
        config = yaml.safe_load((ROOT / "serve_config.yaml").read_text())
        config["http_options"]["port"] = self.place.serve_port
        config["applications"][0]["args"]["set"] = [f"actors.main.port={self.place.game_port}"]
        path = self.place.folder / "serve_config.yaml"
        path.write_text(yaml.safe_dump(config))
        return path


@pytest.fixture
def machine(place: Place) -> Iterator[Machine]:
    machine = Machine(place)
    yield machine
    machine.close()
    for command in (machine.service, machine.head):
        wait_until(lambda c=command: not c.left_behind(), lambda c=command: f"{c.left_behind()} end", GONE_S)
    for port in (place.game_port, place.serve_port, machine.dashboard):
        assert not listens(port)


def test_a_job_trains_what_the_service_plays_and_leaves_a_champion(machine: Machine) -> None:
    place = machine.place
    core = place.start(str(BIN / "python"), "-m", "app.client", f"--url={place.url}", "--games=16")
    untrained = answers(place)
    assert untrained[0] == "0.0"
    pid = _pid(place)

    job = machine.job(*TRAIN)
    wait_until(lambda: answers(place)[0].startswith("1."), lambda: job.output, 90)
    wait_until(lambda: answers(place)[1] != untrained[1], lambda: job.output, 60)
    version, _ = answers(place)
    wait_until(lambda: answers(place)[0] != version, lambda: job.output, 30)
    assert _pid(place) == pid  # New weights, no restart.

    name = next(word for word in job.output.split() if word.strip("'").startswith("raysubmit_")).strip("'")
    stopped = place.run("ray", "job", "stop", name, **machine.reach)
    assert stopped.returncode == 0, stopped.stderr
    job.process.wait(60)
    assert "registered model version 1 as the champion" in job.output, job.output
    root = place.folder / "sparring" / "cartpole"
    folder = ModelRegistry(tracking_uri(None, root), root).download("models:/cartpole.main@champion", place.folder)
    assert json.loads((folder / "model.json").read_text())["factory"] == "app.games.cartpole.model:build"

    assert core.end(signal.SIGTERM, 10) == 0
    played = json.loads(core.output.splitlines()[-1])
    assert played["errors"] == played["lost_games"] == 0


def answers(place: Place) -> tuple[str, list[int]]:
    """Returns which version answers at present, and its most probable actions."""
    with httpx.Client(base_url=place.url) as http:
        started = http.post("/step", headers={"step_kind": "start", "purpose": "evaluate"})
        session = {"session": started.headers["session"]}
        found = [http.post("/step", headers=session, json={"observation": state}) for state in STATES]
        http.post("/step", headers=session | {"step_kind": "stop"})
    return found[0].headers["policy_version"], [answer.json()["action"] for answer in found]


def _pid(place: Place) -> int:
    return int(httpx.get(f"{place.url}/status").json()["pid"])
