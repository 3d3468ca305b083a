"""A service on two nodes begins, scales and ends; a roll-out that fails leaves it as it was."""

import httpx
import psutil
import pytest
from ray import serve
from ray.serve.schema import ApplicationStatusOverview

from app.stores.names import namespace_of
from app.stores.trial import Trial
from tests.ring.declared import declare, is_running
from tests.ring.fleet import COUNTING
from tests.ring.live_games import live_games
from tests.ring.service import wait_until

from .network import Machine
from .nodes import Nodes, SpreadService, titles

pytestmark = pytest.mark.cluster

GAMES = 20
SCALED_S = 120.0
"""Longest time in which replicas come and go on a busy machine."""
GONE_S = 30.0


class DeclaredSpread(SpreadService):
    """A trial's service as ``serve deploy`` declares it."""

    def deploy(self) -> None:
        declare(self, 2)
        wait_until(lambda: is_running(self, 2), "there are two replicas", SCALED_S)
        self.trial = Trial(namespace_of(self.config.run))
        wait_until(self.trial.directory.ports, "the game port is open", SCALED_S)
        self.reach()


def working(machine: Machine) -> set[int]:
    """Returns the processes of Ray's actors and tasks on a machine, but not those that wait for work."""
    return {
        pid for pid, title in titles(machine).items() if title.startswith("ray::") and not title.startswith("ray::IDLE")
    }


def test_a_stopped_service_leaves_no_process_and_no_port_on_either_node(nodes: Nodes) -> None:
    before = working(nodes.other)
    with SpreadService(nodes, "brief", *COUNTING) as service:
        urls = service.url, service.other_url
        replicas = {service.status()["pid"], service.other_status()["pid"]}
        assert working(nodes.other) > before
    wait_until(lambda: not any(map(psutil.pid_exists, replicas)), "both replicas have ended", GONE_S)
    wait_until(lambda: working(nodes.other) <= before, "nothing of it is left on the other node", GONE_S)
    for url in urls:
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/status")


@pytest.mark.long
def test_games_outlive_a_failed_roll_out_and_the_replica_of_one_node(nodes: Nodes) -> None:
    gateway = "actors.main.use_gateway=head"  # Its address stays where a node's last replica goes.
    with DeclaredSpread(nodes, "scaled", *COUNTING, gateway) as service, live_games(service.url, GAMES) as live:
        assert len(hosts(service)) == 2
        declare(service, 2, "agents.player.factory=broken_models:no_agent")
        wait_until(lambda: application(service).status == "DEPLOY_FAILED", "Serve tells of the failure", SCALED_S)
        before = live.ticks
        wait_until(lambda: live.ticks > before + 5 * GAMES, "games go on")
        declare(service, 1)
        wait_until(lambda: is_running(service, 1), "there is one replica", SCALED_S)
        before = live.ticks
        wait_until(lambda: live.ticks > before + 5 * GAMES, "games go on at one node")
        assert len(hosts(service)) == 1


def hosts(service: SpreadService) -> set[str]:
    """Returns the nodes that replicas play on; the gateway plays on none."""
    return {replica.host for replica in service.trial.directory.replicas() if replica.host}


def application(service: SpreadService) -> ApplicationStatusOverview:
    """Returns what Serve tells of the trial's application."""
    return serve.status().applications[service.trial_name]
