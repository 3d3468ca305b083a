"""One agent blocks its replica's loop: the replica is degraded, the other plays on, and no game is lost."""

import statistics
import threading
import time
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import httpx
import pytest

from .fleet import connections
from .service import Cluster, Service, step, wait_until, whole

pytestmark = pytest.mark.ray

BLOCK_S = 24.0
"""Long enough for all looks at the replica that stands still, on a busy machine."""
IDLE_S = 18.0
"""Shorter than the block, so that games could end for it; longer than the others wait for their turn."""
WAITED_S = 10.0
"""Longest wait for an answer of the replica that plays on."""
GAMES = 12


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Service]:
    slow = "agents.player.factory=slow_agent:SlowAgent"
    limits = (f"actors.main.limits.idle_timeout_s={IDLE_S}", "actors.main.slow_tick_ms=2000")
    with Service(cluster, "blocked", "actors.main.replicas=2", slow, *limits) as running:
        yield running


def node(service: Service) -> dict[str, Any]:
    """Returns what the replicas of the node say, asked on a new connection."""
    found: dict[str, Any] = httpx.get(f"{service.url}/node", timeout=WAITED_S).json()
    return found


def tick_of(service: Service, session: str) -> httpx.Response:
    """Sends a tick on a new connection."""
    return httpx.post(f"{service.url}/step", headers={"session": session}, json={}, timeout=WAITED_S)


def alarms(service: Service) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = httpx.get(f"{service.url}/alarms", timeout=WAITED_S).json()["alarms"]
    return found


def homes(service: Service) -> dict[str, str]:
    """Returns the replica of each session."""
    listed = whole(f"{service.url}/sessions?limit=1000")["sessions"]
    return {session["id"]: session["replica"] for session in listed}


def test_while_one_loop_stands_still_the_other_replica_plays_on_and_nobody_is_evicted(service: Service) -> None:
    with connections(service, 2) as replicas:
        for number, http in zip(range(GAMES), cycle(replicas.values()), strict=False):
            assert step(http, f"g{number}", "start").status_code == 200
    places = homes(service)
    assert len(set(places.values())) == 2, "both replicas hold games"
    stuck = places["g0"]
    others = [session for session, replica in places.items() if replica != stuck]

    blocked: list[httpx.Response] = []
    tick = threading.Thread(target=lambda: blocked.append(service.step("g0", "tick", {"block_s": BLOCK_S})))
    began_s = time.monotonic()
    tick.start()
    heard = wait_until(lambda: _degraded(service, stuck), "the metric store hears of it", timeout_s=WAITED_S)
    assert "SlowAgent.on_tick (ring/slow_agent.py:" in heard
    assert wait_until(lambda: node(service)["silent"], "the other replica misses it", timeout_s=WAITED_S) == [stuck]

    latencies_s = []
    for session in others * 5:
        sent_s = time.monotonic()
        assert tick_of(service, session).status_code == 200
        latencies_s.append(time.monotonic() - sent_s)
    assert time.monotonic() - began_s < BLOCK_S, "the block was over before the other replica was asked"
    assert statistics.median(latencies_s) < 0.5  # One that waited for the other loop would wait for its time-out.

    tick.join(30)
    assert blocked[0].status_code == 200
    found = next(r for r in whole(f"{service.url}/node")["replicas"] if r["replica"] == stuck)
    assert found["loop_blocks"] >= 1  # A busy machine may hold it up once more.
    assert (found["degraded"], found["healthy"]) == (None, True)
    assert "closed_idle" not in found["counts"]
    (alarm,) = wait_until(lambda: [a for a in alarms(service) if a["session"] == "g0"], "the slow tick is told of")
    assert (alarm["check"], alarm["tick"], alarm["source"]) == ("slow_tick", 0, f"replica {stuck}")
    assert alarm["value"] >= 1000 * BLOCK_S
    assert "runs SlowAgent.on_tick (ring/slow_agent.py:" in alarm["details"][1]
    for session in (session for session, replica in places.items() if replica == stuck):
        assert tick_of(service, session).status_code == 200


def test_the_replica_takes_connections_again(service: Service) -> None:
    def pids() -> bool:
        return len({int(httpx.get(f"{service.url}/status", timeout=WAITED_S).json()["pid"]) for _ in range(12)}) == 2

    wait_until(pids, "the kernel spreads connections over both replicas again")


def _degraded(service: Service, replica: str) -> str | None:
    heard = service.trial.metrics.service(5.0).replicas
    return next((one.report.degraded for one in heard if one.report.replica == replica), None)
