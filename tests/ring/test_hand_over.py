"""Games outlive their replicas."""

import os
import signal
from collections import Counter
from typing import Any

import psutil
import pytest

from .live_games import live_games
from .service import Cluster, Service, wait_until, whole

pytestmark = pytest.mark.ray

COUNTING = (
    "agents.player.factory=counting_agent:CountingAgent",
    "agents.player.model=null",
    "agents.player.buffer=null",
)
GAMES = 200


def totals(service: Service) -> Counter[str]:
    """Returns the counters of all replicas, those gone included, as the metric store has them."""
    return Counter(service.trial.metrics.totals())


def moved(service: Service, least: int) -> Counter[str]:
    """Returns the counters once givers and takers have reported the same games, which each does in its own time.

    Args:
      service: Whose.
      least: Games that were handed on for certain.
    """

    def same() -> Counter[str] | None:
        counts = totals(service)
        return counts if counts["games_handed_on"] == counts["games_taken_in"] >= least else None

    counts = wait_until(same, "givers and takers have reported the same games")
    assert counts is not None
    return counts


def test_a_rolling_update_loses_no_game_and_no_tick(cluster: Cluster) -> None:
    with Service(cluster, "rolling", "actors.main.replicas=2", *COUNTING) as service:
        with live_games(service.url, GAMES) as live:
            before = live.ticks
            service.deploy()  # Replaces every replica.
            wait_until(lambda: live.ticks > before + 5 * GAMES, "games go on after the update")
        moved(service, GAMES)


def pids(service: Service, replicas: int) -> dict[str, int]:
    """Returns the process of each replica by its name."""
    found: dict[str, int] = {}

    def all_of_them() -> bool:
        service.http.close()
        service.http = service.new_client()
        status: dict[str, Any] = service.status()
        found[status["replica"]] = status["pid"]
        return len(found) == replicas

    wait_until(all_of_them, f"{replicas} replicas answer")
    return found


def kill(pid: int) -> None:
    """Kills a process and waits until it is gone, and its sockets with it."""
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: _is_gone(pid), "it is gone")


def _is_gone(pid: int) -> bool:
    """Whether the last thread has ended: until then the process holds its sockets, though its state may be zombie."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        return len(threads) == 1 and psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except (FileNotFoundError, ProcessLookupError, psutil.NoSuchProcess):
        return True


@pytest.mark.parametrize("every", [1, 5])
def test_games_of_a_killed_replica_go_on_from_their_snapshots(cluster: Cluster, every: int) -> None:
    overrides = ("actors.main.replicas=2", f"actors.main.snapshot_every_ticks={every}")
    with Service(cluster, f"killed{every}", *overrides, *COUNTING) as service:
        processes = pids(service, 2)
        with live_games(service.url, 50, lossy=True) as live:
            wait_until(lambda: live.ticks > 500, "games are played")
            played = whole(f"{service.url}/sessions?limit=1")["sessions"][0]
            kill(processes[played["replica"]])  # One that holds games: the kernel chose where their connections end.
            before = live.ticks
            wait_until(lambda: live.ticks > before + 10 * 50, "games go on after the crash", 60)
        wait_until(lambda: totals(service).get("games_recovered", 0) > 0, "the replica tells of recovered games")
        assert totals(service)["games_lost"] == 0
        assert all(missed <= every for missed in live.missed), live.missed


def test_without_snapshots_the_games_of_a_killed_replica_are_lost_by_name(cluster: Cluster) -> None:
    with Service(cluster, "unsaved", "actors.main.replicas=2", *COUNTING) as service:
        processes = pids(service, 2)
        for number in range(40):
            assert service.step(f"g{number}", "start", seq=0).status_code == 200
        kill(processes.popitem()[1])
        service.http.close()
        service.http = service.new_client()
        codes = Counter(service.step(f"g{number}", "tick", 1, seq=1).json().get("code") for number in range(40))
        assert set(codes) <= {None, "session_lost"}
        again = Counter(service.step(f"g{number}", "tick", 1, seq=2).json().get("code") for number in range(40))
        assert again["session_lost"] == codes["session_lost"]


def test_games_go_on_while_the_directory_is_away_and_starts_wait_for_it(cluster: Cluster) -> None:
    two = Service(cluster, "away", "actors.main.replicas=2", *COUNTING)
    with two as service, live_games(service.url, 50) as live:
        before = live.ticks
        service.restart_stores()
        assert service.step("during", "start", again_s=0, seq=0).status_code in (200, 429)
        wait_until(lambda: live.ticks > before + 10 * 50, "games go on")
        wait_until(lambda: service.step("after", "start", seq=0).status_code == 200, "starts are taken again")
        wait_until(lambda: "live-7" in live.slowest_s, "a tick of it is answered: until then its start may be repeated")
        for _ in range(8):  # Whichever replica is asked, and whoever holds it.
            service.http.close()
            service.http = service.new_client()
            assert service.step("live-7", "start", seq=0).json()["code"] == "session_exists"
