"""Serve's own port in front of several replicas: a step goes to where its game is."""

from collections import Counter
from collections.abc import Iterator

import httpx
import pytest

from .fleet import games, statuses, tick_all
from .service import Cluster, Service, wait_until

pytestmark = pytest.mark.ray

REPLICAS = 3


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Service]:
    with Service(cluster, "routed", f"actors.main.replicas={REPLICAS}") as running:
        yield running


def forwarded(service: Service) -> int:
    return sum(status["counts"].get("from_peers", 0) for status in statuses(service, REPLICAS))


def test_games_begin_evenly_and_no_step_of_theirs_is_forwarded(service: Service) -> None:
    before = forwarded(service)
    with games(service.serve_url, count=30) as minted:
        owners = Counter(session.partition(".")[0] for session in minted)
        assert {status["replica"] for status in statuses(service, REPLICAS)} == set(owners)
        assert max(owners.values()) - min(owners.values()) <= 4, owners
        assert tick_all(service.serve_url, minted) == [1] * 30
        assert tick_all(service.serve_url, minted) == [2] * 30
    assert forwarded(service) == before


def test_steps_of_an_id_of_the_game_cores_own_follow_its_start(service: Service) -> None:
    before = forwarded(service)
    with games(service.serve_url, *(f"match {number}" for number in range(20))) as named:
        assert tick_all(service.serve_url, named) == [1] * 20
        held = [status["sessions"] for status in statuses(service, REPLICAS)]
        assert sum(held) == 20
        assert max(held) < 20
    assert forwarded(service) == before


def test_the_session_in_the_query_is_followed_as_well(service: Service) -> None:
    with games(service.serve_url, count=6) as minted, httpx.Client(base_url=service.serve_url, timeout=30) as http:
        before = forwarded(service)
        for session in minted:
            reply = http.post("/step", params={"session": session}, json={"observation": [0, 0, 0, 0]})
            assert reply.headers["seq"] == "1"
        assert forwarded(service) == before


def test_new_games_go_where_there_are_the_fewest(service: Service) -> None:
    busy, *others = statuses(service, REPLICAS)
    with games(service.serve_url, *(f"{busy['replica']}.{number}" for number in range(12))):

        def counts_them() -> bool:
            with games(service.serve_url, count=4) as minted:
                return all(not session.startswith(busy["replica"]) for session in minted)

        wait_until(counts_them, f"{busy['replica']} with 12 games gets no further ones, only {len(others)} others do")
