"""A Ray cluster of the user's own."""

import json
import os
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx
import yaml

from deployments.port import free_port

from .commands import END_S, GONE_S, ROOT, START_S, Command, Place, listens, wait_until

TRIES = 4
"""Starts of Ray: its own limit of 30 s is too short for a machine that does much else, and no setting changes it."""


def persistent(place: Place, port: int, *words: str, **variables: str) -> Command:
    """Returns a head that listens on its dashboard's port."""
    for tries_left in reversed(range(TRIES)):
        head = place.start(*words, **variables)
        wait_until(lambda h=head: listens(port) or h.process.poll() is not None, lambda h=head: h.output, START_S)
        if head.process.poll() is None:
            return head
        assert tries_left, head.output
        assert "timed out during startup" in head.output, head.output
    raise AssertionError


NOT_STARTED: Final = {"status": "NOT_STARTED", "message": "", "deployments": {}}
"""What ``serve status`` says where Serve knows of no application."""


class ServeStatus(NamedTuple):
    """What Serve says of the application."""

    status: str
    message: str
    replicas: Counter[str]
    """Number of the actor's replicas in each state; empty while the application is built."""


class Machine:
    """A running head, and what Serve runs on it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.dashboard, gcs = free_port(), free_port()
        self.reach = {
            "RAY_ADDRESS": f"127.0.0.1:{gcs}",
            "RAY_API_SERVER_ADDRESS": f"http://127.0.0.1:{self.dashboard}",
            "RAY_DASHBOARD_ADDRESS": f"http://127.0.0.1:{self.dashboard}",
            "RAY_AUTH_MODE": "token",
        }
        generated = place.run("ray", "get-auth-token", "--generate")
        assert generated.returncode == 0, generated.stderr
        self.head = persistent(
            place, self.dashboard,
            "ray", "start", "--head", "--block", f"--port={gcs}", f"--dashboard-port={self.dashboard}",
            f"--dashboard-agent-listen-port={free_port()}", f"--ray-client-server-port={free_port()}",
            "--num-cpus=4", f"--object-store-memory={512 * 2**20}", f"--temp-dir={place.folder / 'ray'}",
            "--disable-usage-stats",
            RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S="1",  # The stores outlive the service, so it would wait in vain.
            PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),  # As an installed product's is.
        )  # fmt: skip

    def serve_run(self) -> Command:
        """Starts the service in the foreground, as a user tries it."""
        service = self.place.start("serve", "run", str(self.serve_config()), **self.reach)
        wait_until(lambda: listens(self.place.game_port), lambda: service.output, START_S)
        return service

    def serve_deploy(self, *overrides: str, deployments: Sequence[dict[str, Any]] = (), **args: str) -> None:
        """Declares what shall run, as a pipeline does; returns when Serve has taken it, not when it runs."""
        path = self.serve_config(*overrides, deployments=deployments, **args)
        deployed = self.place.run("serve", "deploy", str(path), **self.reach)
        assert deployed.returncode == 0, deployed.stderr

    def serve_status(self) -> ServeStatus:
        """Returns what Serve's REST API says of the application, as ``serve status`` does."""
        token = (self.place.folder / ".ray" / "auth_token").read_text().strip()
        reached = f"{self.reach['RAY_API_SERVER_ADDRESS']}/api/serve/applications/"
        told = httpx.get(reached, headers={"Authorization": f"Bearer {token}"}, timeout=30).raise_for_status()
        application = told.json()["applications"].get("sparring", NOT_STARTED)
        actor = application["deployments"].get("actor-main", {"replicas": []})
        states = Counter(replica["state"] for replica in actor["replicas"])
        return ServeStatus(application["status"], application["message"], states)

    def job(self, *words: str) -> Command:
        """Submits a job whose output the command shows until it ends."""
        patient = json.dumps({"env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": "60"}})  # By itself Ray kills after 3 s.
        submit = ("ray", "job", "submit", f"--runtime-env-json={patient}", "--working-dir", ".")
        return self.place.start(*submit, "--", *words, **self.reach)

    def serve_config(self, *overrides: str, deployments: Sequence[dict[str, Any]] = (), **args: str) -> Path:
        """Returns the shipped config of Serve with this machine's ports."""
        config = yaml.safe_load((ROOT / "serve_config.yaml").read_text())
        config["http_options"]["port"] = self.place.serve_port
        application = config["applications"][0]
        application["args"] |= {"set": [f"actors.main.port={self.place.game_port}", *overrides], **args}
        if deployments:
            application["deployments"] = list(deployments)
        path = self.place.folder / "serve_config.yaml"
        path.write_text(yaml.safe_dump(config))
        return path

    def close(self, *commands: Command) -> None:
        """Ends these commands as a terminal would and then the head, and shows that nothing is left."""
        for command in commands:
            command.end(signal.SIGINT, END_S)
        self.head.end(signal.SIGTERM, END_S)
        for command in (*commands, self.head):
            wait_until(lambda c=command: not c.left_behind(), lambda c=command: f"{c.left_behind()} end", GONE_S)
        for port in (self.place.game_port, self.place.serve_port, self.dashboard):
            assert not listens(port)
