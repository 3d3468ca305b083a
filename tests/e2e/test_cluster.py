"""A Ray cluster of the user's own: ``ray start``, ``serve run``, ``ray job submit`` and game cores."""

import json
import signal
from collections.abc import Iterator

import pytest
import yaml

from app.stores.mlflow_store import ModelRegistry, tracking_uri

from .commands import BIN, GONE_S, ROOT, Command, Place, free_port, listens, policy, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

FALLING = [[0.0, 1.0, 0.15 * side, 1.5 * side] for side in (-1, 1)]
"""A pole that falls to the left, and one that falls to the right."""
CAUGHT = [0, 1]
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
        )  # fmt: skip
        wait_until(lambda: listens(self.dashboard), lambda: self.head.output, 60)
        self.service = place.start("serve", "run", str(self._serve_config()), **self.reach)
        wait_until(lambda: listens(place.game_port), lambda: self.service.output, 90)

    def job(self, *words: str) -> Command:
        """Submits a job whose output the command shows until it ends."""
        return self.place.start("ray", "job", "submit", "--working-dir", ".", "--", *words, **self.reach)

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
    first = [policy(place.url, state) for state in FALLING]
    assert {version for version, _ in first} == {"0.0"}
    pid = _pid(place)

    job = machine.job(*TRAIN)
    wait_until(lambda: [policy(place.url, s)[1] for s in FALLING] == CAUGHT, lambda: job.output, 120)
    versions = [policy(place.url, FALLING[0])[0]]
    wait_until(lambda: policy(place.url, FALLING[0])[0] != versions[0], lambda: job.output, 30)
    assert versions[0].startswith("1.")
    assert _pid(place) == pid  # New weights, no restart.

    name = next(word for word in job.output.split() if word.strip("'").startswith("raysubmit_")).strip("'")
    stopped = place.run("ray", "job", "stop", name, **machine.reach)
    assert stopped.returncode == 0, stopped.stderr
    job.process.wait(60)
    assert "registered model version 1 as the champion" in job.output
    root = place.folder / "sparring" / "cartpole"
    folder = ModelRegistry(tracking_uri(None, root), root).download("models:/cartpole.main@champion", place.folder)
    assert json.loads((folder / "model.json").read_text())["factory"] == "app.games.cartpole.model:build"

    assert core.end(signal.SIGTERM, 10) == 0
    played = json.loads(core.output.splitlines()[-1])
    assert played["errors"] == played["lost_games"] == 0


def _pid(place: Place) -> int:
    import httpx  # noqa: PLC0415

    return int(httpx.get(f"{place.url}/status").json()["pid"])
