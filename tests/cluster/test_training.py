"""Learner workers and buffer shards on two nodes, one of which dies."""

from pathlib import Path

import pytest

from tests.ring.service import playing, wait_until
from tests.ring.test_workers import digests, first_after_restart, updates_of
from tests.ring.training import START_S, training, updates
from train.checkpoint import Checkpoints

from .nodes import Nodes, SpreadService

pytestmark = [pytest.mark.cluster, pytest.mark.long]

BACK_S = 180.0
"""Longest time from the return of a node to the next update: its processes import torch, on a busy machine."""


def networks(folder: Path) -> set[int]:
    """Returns the networks that the living workers among those who wrote digests are in."""
    spaces = [Path(f"/proc/{pid}/ns/net") for _, pid in digests(folder)]
    return {space.stat().st_ino for space in spaces if space.exists()}


def test_workers_on_two_nodes_learn_alike_and_go_on_after_one_node_has_died(nodes: Nodes, tmp_path: Path) -> None:
    watched = tmp_path / "watched"
    watched.mkdir()
    wide = (
        "trainers.main.workers=2",
        "trainers.main.num_cpus=2",  # No node has room for both.
        "buffers.rollouts.shards=2",
        "trainers.main.checkpoints.every_s=0.5",
        "models.main.factory=broken_models:watched",
        f"models.main.kwargs.folder={watched}",
    )
    checkpoints = Checkpoints(tmp_path / "ranks" / "checkpoints" / "main")
    with (
        SpreadService(nodes, "ranks", *wide) as service,
        playing(service.url, games=16),
        training(service, tmp_path) as run,
    ):
        with playing(service.other_url, games=16, seed=8):
            seen = updates(service, lambda found: len(found) > 10, "updates")
            assert all(update.metrics["optimizer_steps"] == 4 for update in seen)
            assert len(networks(watched)) == 2
            saved = wait_until(lambda: updates_of(checkpoints.newest()), "a checkpoint", START_S)
        first, second = digests(watched).values()
        taken = min(len(first), len(second))
        assert taken >= 10 * 4
        assert first[:taken] == second[:taken]
        nodes.other.die()
        nodes.start_other()
        restarted = wait_until(lambda: first_after_restart(service), "an update after the restart", BACK_S)
        updates(service, lambda found: found[-1].number > restarted + 3, "updates")
        assert run.running()
        assert restarted >= saved
        assert len(networks(watched)) == 2
