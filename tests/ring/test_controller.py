"""Serve's controller is killed while games are played: the replicas need it for nothing that a game needs."""

import pytest
from ray import serve

from .fleet import games, kill_controller, runs, statuses, tick_all
from .service import Cluster, Service, wait_until

pytestmark = pytest.mark.ray


def test_no_game_is_lost_when_serves_controller_restarts(cluster: Cluster) -> None:
    with Service(cluster, "headless", "actors.main.replicas=2") as service:
        with games(service.url, count=10) as begun, games(service.serve_url, count=10) as through:
            pids = {status["pid"] for status in statuses(service, 2)}
            kill_controller()
            for number in range(1, 101):  # The first of them while no controller is up.
                assert tick_all(service.url, [*begun, *through]) == [number] * 20
            wait_until(lambda: runs("headless", 2), "Serve knows its replicas again")
            assert tick_all(service.serve_url, [*begun, *through]) == [101] * 20
            with games(service.serve_url, count=4) as later:
                assert tick_all(service.url, later) == [1] * 4
            assert {status["pid"] for status in statuses(service, 2)} == pids
        application = serve.status().applications["headless"]
        assert application.status == "RUNNING"


@pytest.mark.long
def test_a_service_that_scales_goes_on_scaling_when_serves_controller_restarts(cluster: Cluster) -> None:
    settings = ("max_replicas=2", "target_games=4", "upscale_delay_s=0.5", "downscale_delay_s=2")
    with Service(cluster, "leaderless", *(f"actors.main.autoscaling.{setting}" for setting in settings)) as service:
        with games(service.url, count=8) as begun:
            wait_until(lambda: runs("leaderless", 2), "8 games at 4 a replica have 2 replicas")
            kill_controller()
            assert tick_all(service.url, begun) == [1] * 8
            wait_until(lambda: runs("leaderless", 2), "Serve knows its replicas again")
            assert tick_all(service.url, begun) == [2] * 8
        wait_until(lambda: runs("leaderless", 1), "no games have one replica")
