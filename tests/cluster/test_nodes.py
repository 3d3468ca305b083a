"""A service on two nodes: games reach their replica from both, and outlive what happens to one."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest
from ray.exceptions import RayError

from app.models.module import to_arrays
from tests.ring.fleet import COUNTING
from tests.ring.live_games import live_games
from tests.ring.service import observation, step, wait_until, whole
from tests.ring.test_hand_over import moved, totals

from .nodes import Nodes, SpreadService, titles

pytestmark = pytest.mark.cluster

GAMES = 20
KEPT = (*COUNTING, "actors.main.snapshot_every_ticks=1")
RECOVERED_S = 20.0
LOOK_S = 0.05
CUT_S = 6.0
"""Longer than the lease of a replica's games, and shorter than Ray waits before it takes a node for dead."""
UNDISTURBED_S = 3.0
"""Longest tick of a game that nothing happens to, on a machine that is busy."""


def held(service: SpreadService) -> dict[str, set[str]]:
    """Returns the sessions that are held on the head's and on the other node."""
    wait_until(lambda: len(service.http.get("/replicas").json()["replicas"]) == 2, "both replicas answer")
    listed = whole(f"{service.url}/sessions?limit=1000")
    found = {}
    for node, client in (("head", service.http), ("other", service.other_http)):
        replicas = {one["replica"] for one in client.get("/node").json()["replicas"]}
        found[node] = {one["id"] for one in listed["sessions"] if one["replica"] in replicas}
    return found


def joined(service: SpreadService) -> int:
    """Returns how many replicas the directory knows; none while it is away."""
    try:
        return len(service.trial.directory.replicas())
    except RayError:
        return 0


def hosts(nodes: Nodes) -> set[int]:
    """Returns the processes of the stores."""
    return {pid for pid, title in titles(nodes.head).items() if "ray::Host" in title}


def test_each_node_answers_on_its_own_game_port_for_every_game(nodes: Nodes) -> None:
    with SpreadService(nodes, "spread", *COUNTING) as service:
        here, there = service.status(), service.other_status()
        assert here["replica"] != there["replica"]
        assert [r.host for r in service.trial.directory.replicas()] != 2 * [nodes.head.address]
        with live_games(service.url, GAMES) as near, live_games(service.other_url, GAMES, prefix="far") as far:
            wait_until(lambda: near.ticks > 100 and far.ticks > 100, "games are played on both")
            with httpx.Client(base_url=service.other_url, timeout=30) as http:
                assert step(http, "live-0", "tick", 1, seq=1_000_000).json()["code"] == "seq_gap"  # It is known there.
            assert all(held(service).values())
            for client in (service.http, service.other_http):  # Whichever node is asked.
                wait_until(lambda c=client: len(c.get("/replicas").json()["replicas"]) == 2, "both replicas answer")
            found = [
                wait_until(lambda c=client: c.get("/sessions/live-0").json().get("replica"), "its replica answers")
                for client in (service.http, service.other_http)
            ]
            assert found[0] == found[1]
            service.deploy()
            before = near.ticks, far.ticks
            wait_until(lambda: near.ticks > before[0] + 5 * GAMES, "games go on after the update")
            wait_until(lambda: far.ticks > before[1] + 5 * GAMES, "games go on after the update")
        moved(service, 2 * GAMES)
        assert {service.status()["replica"], service.other_status()["replica"]}.isdisjoint(
            {here["replica"], there["replica"]}
        )


def test_weights_reach_both_nodes_and_travel_to_each_once(nodes: Nodes) -> None:
    wide = ("models.main.kwargs.hidden=1024", "actors.main.replicas=4")
    with SpreadService(nodes, "weights", *wide) as service:
        wait_until(lambda: len(service.trial.directory.replicas()) == 4, "there are four replicas", 60)
        size = sum(array.nbytes for array in to_arrays(service.module(3)).values())
        assert size > 8e6
        before = nodes.other.received_bytes()
        version = str(service.send(3))
        wait_until(lambda: service.plays(version), "all replicas play it")
        assert 0.9 * size < nodes.other.received_bytes() - before < 1.5 * size
        here, there = (step(client, body=observation()) for client in (service.http, service.other_http))
        assert here.status_code == there.status_code == 200
        assert here.headers["policy_version"] == there.headers["policy_version"] == version


def test_the_stores_come_back_with_what_both_nodes_hold(nodes: Nodes) -> None:
    with (
        SpreadService(nodes, "stores", *KEPT) as service,
        live_games(service.url, GAMES) as near,
        live_games(service.other_url, GAMES, prefix="far") as far,
    ):
        file = service.home / "stores" / "totals.json"
        wait_until(lambda: file.exists() and b"ticks_play" in file.read_bytes(), "totals are on disk")
        counted = json.loads(file.read_bytes())["counts"]["ticks_play"]
        before_restart = hosts(nodes)
        service.restart_stores()
        wait_until(lambda: before_restart - hosts(nodes), "their old process is gone")
        wait_until(lambda: joined(service) == 2, "both have joined again", 60)
        before = near.ticks, far.ticks
        wait_until(lambda: near.ticks > before[0] + 5 * GAMES, "games go on")
        wait_until(lambda: far.ticks > before[1] + 5 * GAMES, "games go on")
        assert totals(service)["ticks_play"] >= counted
        assert not near.missed
        assert not far.missed


def test_a_link_that_was_cut_costs_no_game_and_leaves_none_double(nodes: Nodes) -> None:
    with (
        SpreadService(nodes, "cut", *KEPT) as service,
        live_games(service.url, GAMES, lossy=True) as near,
        nodes.other.joined(),
        live_games(service.other_url, GAMES, prefix="far", lossy=True) as far,
    ):
        wait_until(lambda: near.ticks > 100 and far.ticks > 100, "games are played on both")
        with nodes.other.cut_off():
            threading.Event().wait(CUT_S)
        before = near.ticks, far.ticks
        wait_until(lambda: near.ticks > before[0] + 5 * GAMES, "games go on", 60)
        wait_until(lambda: far.ticks > before[1] + 5 * GAMES, "games go on", 60)
        sessions = held(service)
        assert sessions["head"].isdisjoint(sessions["other"])
        assert len(sessions["head"] | sessions["other"]) == 2 * GAMES


@contextmanager
def standing_still() -> Iterator[Callable[[], float]]:
    """Tells how long this machine stood still at most while the block ran, which no service can help."""
    longest_s, over = 0.0, threading.Event()

    def look() -> None:
        nonlocal longest_s
        while True:
            begun_s = time.monotonic()
            if over.wait(LOOK_S):
                return
            longest_s = max(longest_s, time.monotonic() - begun_s - LOOK_S)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield lambda: longest_s
    finally:
        over.set()
        looking.join()


def test_games_of_a_node_that_dies_go_on_and_those_of_others_do_not_notice(
    nodes: Nodes, request: pytest.FixtureRequest
) -> None:
    with SpreadService(nodes, "dying", *KEPT) as service:
        with (
            live_games(service.url, GAMES, lossy=True) as near,
            live_games(service.url, GAMES, lossy=True, prefix="far", start_url=service.other_url) as far,
        ):
            wait_until(lambda: near.ticks > 5 * GAMES and far.ticks > 5 * GAMES, "all games are played")
            before = held(service)
            assert len(before["other"]) > GAMES / 2
            request.addfinalizer(nodes.start_other)
            nodes.other.die()
            near.slowest_s.clear()
            far.slowest_s.clear()
            every = before["other"] | before["head"]
            with standing_still() as still_s:
                wait_until(lambda: near.slowest_s.keys() | far.slowest_s.keys() >= every, "all games go on", 60)
            slowest_s = near.slowest_s | far.slowest_s
            assert max(slowest_s[session] for session in before["other"]) < RECOVERED_S + still_s()
            assert max(slowest_s[session] for session in before["head"]) < UNDISTURBED_S + still_s()
        assert totals(service)["games_lost"] == 0
