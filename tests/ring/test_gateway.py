"""Who listens on the game port: a gateway on the head node, or nobody."""

import json
import os
import signal
import time
from pathlib import Path

import httpx
import psutil
import pytest

from app.wire.token import sign
from deployments.port import free_port, holder

from .fleet import COUNTING, games, runs, tick_all
from .live_games import live_games
from .service import Cluster, Service, observation, playing, step, wait_until

pytestmark = pytest.mark.ray

BACK_S = 120.0
"""Longest wait for a gateway that was killed, on a busy machine."""


def test_a_gateway_brings_each_step_to_one_of_the_replicas(cluster: Cluster) -> None:
    port = free_port()
    settings = ("actors.main.use_gateway=head", "actors.main.replicas=2", f"actors.main.port={port}")
    with Service(cluster, "behind", *settings) as service:
        assert service.port == port
        assert runs("behind", 2)
        both = wait_until(lambda: _replicas(service, 2), "the gateway knows both replicas")
        with games(service.url, "mine-agent-player", count=8) as begun:
            assert {session.partition(".")[0] for session in begun[1:]} == both
            assert tick_all(service.url, begun) == [1] * 9
            assert tick_all(service.serve_url, begun) == [2] * 9
        assert service.step(body=observation()).json()["action"] in (0, 1)
        assert service.step("nowhere", body=observation()).json()["code"] == "session_unknown"
        with playing(service.url, games=8, episodes=16) as game_core:
            assert game_core.result(timeout=200).errors == 0
    assert holder("127.0.0.1", port) is None


def _replicas(service: Service, count: int) -> set[str] | None:
    """Returns the names of the replicas behind a gateway; None where it does not know of so many."""
    names = set(service.status()["replicas"])
    return names if len(names) == count else None


@pytest.mark.long
def test_games_behind_a_gateway_outlive_an_update_of_all(cluster: Cluster) -> None:
    with Service(cluster, "renewed", "actors.main.use_gateway=head", "actors.main.replicas=2", *COUNTING) as service:
        old = service.status()["gateway"]
        with live_games(service.url, 40) as live:
            before = live.ticks
            service.deploy()
            wait_until(lambda: live.ticks > before + 10 * 40, "games go on after the update")
        wait_until(lambda: _another_answers(service, old), "the new gateway answers")


def test_games_go_on_when_the_gateway_is_killed(cluster: Cluster) -> None:
    settings = ("actors.main.use_gateway=head", "actors.main.replicas=2", f"actors.main.port={free_port()}")
    with Service(cluster, "cut_off", *settings, *COUNTING) as service:
        old = service.status()["gateway"]
        with live_games(service.url, 20, limit_s=2 * BACK_S) as live:
            kill_the_gateway_of("cut_off")
            wait_until(lambda: _another_answers(service, old), "another gateway answers", BACK_S)
            before = live.ticks
            wait_until(lambda: live.ticks > before + 10 * 20, "games go on", BACK_S)


def kill_the_gateway_of(trial: str) -> None:
    processes = psutil.Process().children(recursive=True)
    (pid,) = [process.pid for process in processes if f"{trial}:gateway-main" in " ".join(_words(process))]
    os.kill(pid, signal.SIGKILL)


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def _another_answers(service: Service, old: str) -> bool:
    service.http.close()
    service.http = service.new_client()
    return bool(service.status()["gateway"] != old)


def test_a_gateway_admits_by_key_and_token_and_the_replica_knows_whose_session_it_is(
    cluster: Cluster, tmp_path: Path
) -> None:
    secret = "0123456789abcdef" * 2
    keys = [{"name": name, "key": name, "secret": secret} for name in ("mine", "other")]
    file = tmp_path / "keys.json"
    file.write_text(json.dumps(keys))
    settings = ("actors.main.use_gateway=head", "actors.main.replicas=2", f"actors.main.access.keys_file={file}")
    with Service(cluster, "keyed", *settings) as service:

        def signed(key: str, session: str) -> dict[str, str]:
            now = str(int(time.time()))
            return {"key": key, "time": now, "token": sign(secret, key, now, session)}

        assert service.step("match", "start").json()["code"] == "unauthorized"
        wait_until(  # Until it has heard of a replica it reaches none.
            lambda: service.step("match", "start", **signed("mine", "match")).status_code == 200, "the start is taken"
        )
        assert service.step("match", body=observation(), **signed("mine", "match")).headers["seq"] == "1"
        assert service.step("match", body=observation(), **signed("mine", "another")).json()["code"] == "unauthorized"
        assert service.step("match", body=observation(), **signed("other", "match")).status_code != 200
        assert service.step("match", "stop", **signed("mine", "match")).headers["seq"] == "2"


def test_without_a_game_port_a_start_tells_where_its_own_replica_listens(cluster: Cluster) -> None:
    port = free_port()
    settings = ("actors.main.use_gateway=null", "actors.main.replicas=2", f"actors.main.port={port}")
    with Service(cluster, "direct", *settings) as service:
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"http://127.0.0.1:{port}/status")
        with httpx.Client(base_url=service.serve_url, timeout=30) as serve_port:
            # The hash of a game decides between the two replicas: of 20 not all decide for one.
            begun = {number: step(serve_port, f"game {number}", "start") for number in range(20)}
        endpoints = {number: reply.headers["endpoint"] for number, reply in begun.items()}
        assert len(set(endpoints.values())) == 2
        for number, endpoint in endpoints.items():
            with httpx.Client(base_url=f"http://{endpoint}", timeout=30) as own:
                before = own.get("/status").json()["counts"].get("ticks_train", 0)
                assert step(own, f"game {number}", body=observation()).headers["seq"] == "1"
                assert own.get("/status").json()["counts"]["ticks_train"] == before + 1
                step(own, f"game {number}", "stop")
