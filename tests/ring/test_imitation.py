"""A served expert is recorded, cloned, and its clone plays as well over the port."""

from pathlib import Path

import pytest

from app.types import Purpose

from .service import Cluster, Service, playing, wait_until
from .training import START_S, trainer, wait_for_end

pytestmark = pytest.mark.ray

DEMOS = 12
"""Games of the expert; each lasts 500 ticks."""


def recorded(cluster: Cluster) -> Path:
    """Plays a deployed expert and returns the folder of its games."""
    expert = ("run.mode=deploy", "models.main.factory=experts:Balancer", "agents.player.record={file_s: 0.3}")
    with Service(cluster, "expert", *expert) as service:
        with playing(service.url, games=DEMOS, purpose=Purpose.EVALUATE, episodes=DEMOS) as game_core:
            assert game_core.result(START_S).min_return == 500
        wait_until(lambda: service.status()["counts"].get("recorded_episodes", 0) >= DEMOS, "all games are recorded")
        return service.home / "expert" / "recordings"


@pytest.mark.long
def test_a_clone_of_a_served_expert_plays_as_well(cluster: Cluster, tmp_path: Path) -> None:
    inputs = "{source: demos, batch_rows: 1024, algorithm: {kind: bc, minibatch_rows: 128}}"
    source = f"{{kind: recordings, path: {recorded(cluster)}, epochs: 12, shuffle: {{window: 4}}}}"
    with Service(cluster, "clone", f"sources.demos={source}", f"trainers.main.inputs=[{inputs}]") as service:
        run = trainer(service, tmp_path)
        run.start()
        try:
            assert wait_for_end(run)
        finally:
            run.stop()
            run.wait(START_S)
        seen = service.trial.metrics.updates_after(0)
        assert sum(update.metrics.get("rows", 0) for update in seen) == 12 * DEMOS * 500
        version = service.trial.weights("main").newest()
        wait_until(lambda: service.status()["versions"]["main"] == str(version), "the clone is played")
        with playing(service.url, games=10, purpose=Purpose.EVALUATE, episodes=10, seed=1000) as game_core:
            assert game_core.result(START_S).mean_return >= 475
