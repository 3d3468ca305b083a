"""Two actor replicas behind one game port."""

import os
import signal
import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from app.errors import PortInUseError
from deployments.actor import SWEEP_S
from deployments.port import free_port

from .fleet import connections
from .service import Cluster, Service, observation, playing, step

pytestmark = pytest.mark.ray

TWO_SIDES = ("actors.main.agents=[player,scout]", "agents.scout.model=main")


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Service]:
    with Service(cluster, "replicas", "actors.main.replicas=2", *TWO_SIDES) as running:
        yield running


@pytest.fixture
def doors(service: Service) -> Iterator[dict[str, httpx.Client]]:
    """A kept connection to each replica, by the replica's name."""
    with connections(service, 2) as found:
        yield found


def sessions(doors: dict[str, httpx.Client]) -> list[int]:
    return [client.get("/status").json()["sessions"] for client in doors.values()]


def test_a_session_is_reached_from_any_connection_and_from_serves_port(
    service: Service, doors: dict[str, httpx.Client]
) -> None:
    first, second = doors.values()
    with httpx.Client(base_url=service.serve_url, timeout=30) as serve_port:
        assert step(first, "anywhere", "start").status_code == 200
        assert sessions(doors) == [1, 0]
        for number, client in enumerate([first, second, serve_port] * 4, start=1):
            assert step(client, "anywhere", "tick", observation(), seq=number).headers["seq"] == str(number)
        assert sessions(doors) == [1, 0]
        assert step(second, "anywhere", "stop").status_code == 200


def test_errors_of_the_owner_reach_a_connection_elsewhere(doors: dict[str, httpx.Client]) -> None:
    first, second = doors.values()
    step(first, "strict", "start")
    refused = [
        step(client, "strict", "tick", body, **fields)
        for client in (first, second)
        for body, fields in ((observation(1, 2), {}), (observation(), {"seq": 7}))
    ]
    assert [reply.json()["code"] for reply in refused] == ["bad_payload", "seq_gap"] * 2
    assert refused[0].json() == refused[2].json()
    step(first, "strict", "stop")


def test_a_batch_reaches_the_sessions_of_both_replicas(doors: dict[str, httpx.Client]) -> None:
    first, second = doors.values()
    for client, name in ((first, "here"), (second, "there")):
        step(client, name, "start")
    ticks = [{"session": name, "kind": "tick", "body": observation()} for name in ("here", "there", "nowhere")]
    for client in (first, second):
        here, there, nowhere = client.post("/steps", json=ticks).json()
        assert here["body"]["action"] in (0, 1)
        assert there["body"]["action"] in (0, 1)
        assert nowhere["error"]["code"] == "session_unknown"
    for name in ("here", "there"):
        step(first, name, "stop")


def test_all_sides_of_a_game_are_played_by_one_replica_until_the_last_ends(doors: dict[str, httpx.Client]) -> None:
    first, second = doors.values()
    step(first, "match-agent-player", "start")
    step(second, "match-agent-scout", "start")
    assert sessions(doors) == [2, 0]
    step(first, "match-agent-player", "stop")
    end_s = time.monotonic() + 2 * SWEEP_S  # Long enough for the replica to let ended games go.
    while time.monotonic() < end_s:
        assert step(second, "match-agent-scout", "tick", observation()).status_code == 200
    step(second, "match-agent-scout", "stop")


def test_a_stop_is_retried_over_another_connection(doors: dict[str, httpx.Client]) -> None:
    first, second = doors.values()
    step(first, "ended", "start")
    step(first, "ended", "tick", observation())
    stopped = step(first, "ended", "stop", {"terminated": True})
    assert step(second, "ended", "stop", {"terminated": True}).content == stopped.content


def test_a_session_comes_back_over_another_connection(doors: dict[str, httpx.Client]) -> None:
    first, second = doors.values()
    for client, other in ((first, second), (second, first)):
        assert step(client, "returning", "start").status_code == 200
        assert step(other, "returning", "tick", observation()).headers["seq"] == "1"
        assert step(client, "returning", "tick", observation()).headers["seq"] == "2"
        assert step(client, "returning", "stop").status_code == 200


def test_the_peer_port_refuses_whoever_does_not_know_the_secret(
    service: Service, doors: dict[str, httpx.Client]
) -> None:
    step(service.http, "owned", "start")
    (owner, *_) = service.trial.directory.replicas()
    with httpx.Client(base_url=f"http://{owner.host}:{owner.peer_port}", timeout=30) as stranger:
        for secret in ({}, {"cluster-secret": "guess"}):
            assert step(stranger, "owned", "tick", observation(), **secret).json()["code"] == "bad_request"
    step(service.http, "owned", "stop")


def test_a_second_service_on_the_port_is_refused_by_name(cluster: Cluster, service: Service) -> None:
    with pytest.raises(PortInUseError, match=f"port {service.port} .* is held by sparring.cartpole.replicas"):
        Service(cluster, "second", f"actors.main.port={service.port}").deploy()


def test_a_port_that_a_stranger_shares_freely_is_refused_all_the_same(cluster: Cluster) -> None:
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        stranger.bind(("127.0.0.1", free_port()))
        stranger.listen()
        port = stranger.getsockname()[1]
        with pytest.raises(PortInUseError, match=f"port {port} on 127.0.0.1 cannot be used"):
            Service(cluster, "third", f"actors.main.port={port}").deploy()


def test_games_of_a_killed_replica_are_lost_by_name_and_new_ones_are_played(
    service: Service, doors: dict[str, httpx.Client]
) -> None:
    first, second = doors.values()
    step(first, "lost", "start")
    step(second, "kept", "start")
    os.kill(first.get("/status").json()["pid"], signal.SIGKILL)
    assert step(second, "lost", "tick", observation()).json()["code"] == "session_lost"
    assert step(second, "kept", "tick", observation()).status_code == 200
    assert step(second, "lost", "start").status_code == 200
    with playing(service.url, episodes=16) as game_core:
        assert game_core.result(timeout=30).episodes == 16
