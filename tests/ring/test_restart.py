"""A service that is deployed again, ends, and comes back on the same port."""

import socket

import psutil
import pytest
import ray

from deployments.port import free_port

from .service import Cluster, Service, observation, playing, wait_until

pytestmark = pytest.mark.ray


def listens(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


def replicas(trial: str) -> list[int]:
    """Returns the processes of a trial's replicas."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            found += [process.pid] if f":{trial}:" in " ".join(process.cmdline()) else []
        except psutil.Error:
            continue
    return found


def namespaces() -> set[str]:
    """Returns the namespaces in which an actor with a name lives."""
    return {str(actor["namespace"]) for actor in ray.util.list_named_actors(all_namespaces=True)}


def test_a_service_is_deployed_again_on_its_port_while_games_are_played(cluster: Cluster) -> None:
    with Service(cluster, "redeployed", f"actors.main.port={free_port()}") as service, playing(service.url) as core:
        wait_until(lambda: service.status()["sessions"] == 16, "games are played")
        first, port = service.status()["pid"], service.port
        service.deploy()
        assert service.port == port
        wait_until(lambda: service.status()["pid"] != first, "the new replica answers")
        wait_until(lambda: service.status()["sessions"] == 16, "games are played on")
    assert core.result().errors == 0


@pytest.mark.long
def test_a_service_that_ended_leaves_nothing_and_starts_at_once_on_the_same_port(cluster: Cluster) -> None:
    port = free_port()
    for _ in range(2):
        with Service(cluster, "again", f"actors.main.port={port}") as service:
            assert service.port == port
            assert service.step(body=observation()).status_code == 200
            wait_until(lambda: len(replicas("again")) == 1, "the process before is gone")
            namespace = service.trial.namespace
        assert not listens(port)
        wait_until(lambda gone=namespace: gone not in namespaces(), "its stores are gone")
    wait_until(lambda: not replicas("again"), "no process is left")
