"""Replicas come and go by the games that are open, without a call to Serve."""

from contextlib import ExitStack

import pytest

from .fleet import COUNTING, games, runs, statuses, tick_all
from .live_games import live_games
from .service import Cluster, Service, wait_until
from .test_hand_over import moved

pytestmark = pytest.mark.ray

SCALING = (
    "actors.main.autoscaling.max_replicas=3",
    "actors.main.autoscaling.target_games=6",
    "actors.main.autoscaling.upscale_delay_s=0.5",
    "actors.main.autoscaling.downscale_delay_s=2",
    "actors.main.drain_timeout_s=10",
)


@pytest.mark.long
def test_games_bring_replicas_and_take_them_away(cluster: Cluster) -> None:
    with Service(cluster, "scaled", *SCALING) as service:
        assert runs("scaled", 1)
        with games(service.url, count=15) as first:
            wait_until(lambda: runs("scaled", 3), "15 games at 6 a replica have 3 replicas")
            assert tick_all(service.url, first) == [1] * 15
            with games(service.serve_url, count=3) as second:
                owners = {session.partition(".")[0] for session in second}
                assert owners.isdisjoint(session.partition(".")[0] for session in first)
                assert tick_all(service.serve_url, [*first, *second]) == [2] * 15 + [1] * 3
            assert sum(status["counts"].get("from_peers", 0) for status in statuses(service, 3)) <= 15
        wait_until(lambda: runs("scaled", 1), "no games have one replica")
        with games(service.url, count=1) as last:
            assert tick_all(service.url, last) == [1]


def test_replicas_come_and_go_by_load_alone_and_no_game_is_lost(cluster: Cluster) -> None:
    with Service(cluster, "breathing", *SCALING, *COUNTING) as service:
        with live_games(service.url, 4) as few:  # Within the target of one replica, slack and all.
            with live_games(service.url, 14, prefix="more") as many:
                wait_until(lambda: runs("breathing", 3), "18 games at 6 a replica have 3 replicas")
                before = many.ticks
                wait_until(lambda: many.ticks > before + 10 * 14, "games are played on three replicas")
            wait_until(lambda: runs("breathing", 1), "4 games have one replica")
            before = few.ticks
            wait_until(lambda: few.ticks > before + 10 * 4, "games are played on one replica")
        counts = moved(service, 0)  # None where the few are on the replica that stays.
        assert counts["closed_shutdown"] == counts["closed_idle"] == counts["agent_error"] == 0


@pytest.mark.long
def test_games_move_off_the_replicas_that_a_lower_load_takes_away(cluster: Cluster) -> None:
    with Service(cluster, "shrunk", *SCALING) as service, ExitStack() as others:
        others.enter_context(games(service.url, count=15))
        wait_until(lambda: runs("shrunk", 3), "15 games have 3 replicas")
        with games(service.serve_url, count=4) as kept:
            assert len({session.partition(".")[0] for session in kept}) == 2
            assert tick_all(service.url, kept) == [1] * 4
            others.close()
            wait_until(lambda: runs("shrunk", 1), "4 games have one replica")
            assert tick_all(service.url, kept) == [2] * 4
            assert tick_all(service.serve_url, kept) == [3] * 4
