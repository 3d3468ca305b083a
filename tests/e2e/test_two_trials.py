"""The shipped Serve config with two trials: status shows both, stop ends one, the other plays on."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import yaml

from deployments.port import free_port

from .commands import ROOT, START_S, Place, listens, wait_until
from .machine import Machine

pytestmark = pytest.mark.e2e

CALL = "import sys; from app.cli import main; main(sys.argv[1:])"


class TwoTrials:
    """A head with both trials on it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.second_port = free_port()
        path = machine.place.folder / "two_trials.yaml"
        path.write_text(yaml.safe_dump(self._config()))
        self.service = machine.place.start("serve", "run", str(path), **machine.reach)
        for port in (machine.place.game_port, self.second_port):
            wait_until(lambda port=port: listens(port), lambda: self.service.output, START_S)

    def sparring(self, *words: str) -> dict[str, Any]:
        """Returns what a command prints as JSON."""
        done = self.machine.place.run("python", "-c", CALL, *words, "--json", **self.machine.reach)
        assert done.returncode == 0, done.stderr
        printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return printed

    def applications(self) -> dict[str, list[str]]:
        """Returns the applications of each trial, as ``sparring status`` knows them."""
        trials = self.sparring("status")["trials"]
        return {trial["trial"]: [application["name"] for application in trial["applications"]] for trial in trials}

    def _config(self) -> dict[str, Any]:
        shipped = (ROOT / "configs" / "cluster" / "two_trials.yaml").read_text(encoding="utf-8")
        config: dict[str, Any] = yaml.safe_load(shipped)
        config["http_options"]["port"] = self.machine.place.serve_port
        ports = (self.machine.place.game_port, self.second_port)
        for application, port in zip(config["applications"], ports, strict=True):
            application["args"]["set"].append(f"actors.main.port={port}")
        return config


@pytest.fixture
def two(place: Place) -> Iterator[TwoTrials]:
    two = TwoTrials(Machine(place))
    yield two
    two.machine.close(two.service)


def test_one_of_the_two_trials_is_stopped_and_the_other_plays_on(two: TwoTrials) -> None:
    assert two.applications() == {"first": ["first"], "second": ["second"]}
    url = two.machine.place.url
    started = httpx.post(f"{url}/step", headers={"step_kind": "start"}, timeout=30)
    session = {"session": started.headers["session"]}

    stopped = two.sparring("stop", "cartpole.second")["stopped"]
    assert [(done["trial"], done["applications"]) for done in stopped] == [("cartpole.second", ["second"])]
    assert two.applications() == {"first": ["first"]}
    assert not listens(two.second_port)
    assert httpx.post(f"{url}/step", headers=session, json={"observation": [0.1] * 4}, timeout=30).status_code == 200
