"""Ray on machines of its own, and a service that is spread over them."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import ray
from ray import serve

from deployments.build import application, prepare
from tests.ring.service import Cluster, Service, wait_until

from .network import Machine, machines

GCS_PORT = 6379
STORE_BYTES = 128 * 2**20
GAME_PORT = 36390
NODE_CPUS = 3
"""Pretended: what both nodes ask of the machine's own cores is little."""
AGENT_PORTS = {"dashboard-agent-grpc-port": 6401, "runtime-env-agent-port": 6402, "dashboard-agent-listen-port": 6403}
"""Fixed, since Ray gives up where its agents take more than 15 s to tell ports of their own."""
JOINED_S = 60.0


@dataclass(frozen=True)
class Nodes:
    """Two Ray nodes, each on a machine of its own; the tests' process is on the head's."""

    head: Machine
    other: Machine
    cluster: Cluster

    def start_other(self) -> None:
        """Starts Ray on the other machine, and returns once the head knows it."""
        self.other.revive()
        join(self.other, self.head)


RAY = (sys.executable, "-m", "ray.scripts.scripts")


def start_ray(machine: Machine, *role: str) -> None:
    """Starts a Ray node."""
    machine.persist(lambda: machine.run(*RAY, "start", *role, *_options(machine)))


def _options(machine: Machine) -> list[str]:
    whole = {"node-ip-address": machine.address, "num-cpus": NODE_CPUS, "object-store-memory": STORE_BYTES}
    whole |= AGENT_PORTS
    return ["--disable-usage-stats", *(f"--{name}={value}" for name, value in whole.items())]


def alive() -> dict[str, str]:
    """Returns the ids of live nodes by their address."""
    return {node["NodeManagerAddress"]: node["NodeID"] for node in ray.nodes() if node["Alive"]}


def titles(machine: Machine) -> dict[int, str]:
    """Returns the command lines of what runs on a machine, by process."""
    found = {}
    for pid in machine.pids():
        with suppress(psutil.Error):
            found[pid] = " ".join(psutil.Process(pid).cmdline())
    return found


def join(machine: Machine, head: Machine) -> None:
    """Starts Ray on a machine, and returns once the head knows it."""
    start_ray(machine, "--address", f"{head.address}:{GCS_PORT}")
    wait_until(lambda: machine.address in alive(), f"{machine.name} has joined", JOINED_S)


@contextmanager
def ray_on(folder: Path, *names: str) -> Iterator[tuple[list[Machine], Cluster]]:
    """Runs Ray on machines of these names, with this process's threads on the first's, which is the head's."""
    with machines(*names) as made:
        head, *others = made.values()
        temporary = ("--temp-dir", f"{folder}/ray", "--include-dashboard=false", f"--port={GCS_PORT}")
        start_ray(head, "--head", *temporary)
        with head.joined():
            ray.init(address=f"{head.address}:{GCS_PORT}", log_to_driver=False)
            try:
                serve.start(proxy_location="HeadOnly", http_options={"host": head.address, "port": 8000})
                for machine in others:
                    join(machine, head)
                yield [head, *others], Cluster(f"http://{head.address}:8000", Path(os.environ["SPARRING_HOME"]))
                serve.shutdown()
            finally:
                ray.shutdown()


@contextmanager
def two_nodes(folder: Path) -> Iterator[Nodes]:
    """Runs Ray on two machines."""
    with ray_on(folder, "head", "other") as ((head, other), cluster):
        yield Nodes(head, other, cluster)


class SpreadService(Service):
    """A trial's service with a replica on each node."""

    def __init__(self, nodes: Nodes, trial: str, *overrides: str) -> None:
        spread = ("host=0.0.0.0", f"port={GAME_PORT}", "access.allow_open=true", "replicas=2")
        super().__init__(nodes.cluster, trial, *(f"actors.main.{setting}" for setting in spread), *overrides)
        self.nodes = nodes

    def deploy(self) -> None:
        prepared = prepare(self.config)
        self.trial = prepared.trial
        serve.run(application(prepared), name=self.trial_name, route_prefix=f"/{self.trial_name}")
        self.reach()

    def reach(self) -> None:
        """Makes the clients of both nodes' game ports."""
        self.port = self.trial.directory.ports()["main"]
        self.url, self.other_url = (f"http://{m.address}:{self.port}" for m in (self.nodes.head, self.nodes.other))
        self.serve_url = f"{self.cluster.serve_url}/{self.trial_name}"
        self.http, self.other_http = (httpx.Client(base_url=url, timeout=30) for url in (self.url, self.other_url))

    def versions(self) -> list[tuple[str, str | None]]:
        """Returns the host of each replica that has told, and the version that it plays."""
        heard = [one.report for one in self.trial.metrics.service().replicas]
        return [(report.host, report.versions.get("main")) for report in heard]

    def plays(self, version: str) -> bool:
        """Returns whether all replicas have told, and play a version."""
        played = [one for _, one in self.versions()]
        return played == [version] * self.config.actors["main"].replicas

    def other_status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.other_http.get("/status").json()
        return found
