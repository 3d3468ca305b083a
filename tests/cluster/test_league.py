"""A league on two nodes: whatever starts first, and whatever dies, it is ready in time."""

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from tests.ring.service import playing, wait_until
from tests.ring.test_league import PONG, READY_S, League, goes_on, trained
from tests.ring.training import START_S
from train.checkpoint import Checkpoints

from .nodes import GAME_PORT, Nodes, SpreadService, titles

pytestmark = [pytest.mark.cluster, pytest.mark.long]

TRAINERS = ("main", "exploiter")


class SpreadLeague(SpreadService, League):
    """A service of the shipped league with a replica on each node."""


def workers(nodes: Nodes) -> list[int]:
    """Returns the processes of the trainers, on both nodes."""
    running = titles(nodes.head) | titles(nodes.other)
    return [pid for pid, title in running.items() if "ray::RayTrainWorker" in title]


def test_games_that_begin_before_the_service_are_played_and_all_parts_may_die_at_once(
    nodes: Nodes, tmp_path: Path
) -> None:
    often = [f"trainers.{name}.checkpoints.every_s=1" for name in TRAINERS]
    folders = [Checkpoints(tmp_path / "matched" / "checkpoints" / name) for name in TRAINERS]
    service = SpreadLeague(nodes, "matched", *often)
    early = f"http://{nodes.other.address}:{GAME_PORT}"
    with playing(early, 8, env=PONG, seats=({"*": "player"},), wait_s=120.0) as first, service:
        wait_until(service.finished, "a match has ended", READY_S)
        with trained(service, tmp_path, ("player", "exploiter"), TRAINERS):
            for folder in folders:
                wait_until(partial(goes_on, service, folder, 0.0), "a trainer learns", START_S)
            os.kill(workers(nodes)[0], signal.SIGKILL)
            os.kill(service.other_status()["pid"], signal.SIGKILL)
            service.restart_league()
            service.restart_stores()
            killed_s = time.time()
            for folder in folders:
                wait_until(partial(goes_on, service, folder, killed_s), "a trainer learns again", READY_S)
    assert first.result().errors == 0
