"""A replay table comes back where training goes on and its process was killed, and lives on where it was not."""

from pathlib import Path

import pytest
import ray

from app.stores.metrics_values import Update
from app.stores.names import buffer_host
from app.stores.table_folder import table_folder, table_of

from .service import Cluster, Service, playing
from .training import training, updates

pytestmark = pytest.mark.ray

DQN = (
    "models.main.factory=app.models.networks.policy:build",
    "models.main.kwargs={observation: {shape: [4]}, action: {choices: 2}, encoder: {kind: mlp, hidden: [16]}, q: {}}",
    "buffers.rollouts.table={capacity_items: 3000, max_age_versions: 1000000, save: {},"
    " limiter: {kind: min_size, min_size_items: 400}}",
    "trainers.main.inputs=[{buffer: rollouts, batch_rows: 64, algorithm: {kind: dqn, minibatch_rows: 64}}]",
    "trainers.main.checkpoints={every_updates: 5}",
)


@pytest.mark.long
def test_a_resumed_learner_has_its_table_again_and_goes_on_without_a_game(cluster: Cluster, tmp_path: Path) -> None:
    with Service(cluster, "tables", *DQN) as service:
        buffer = service.trial.buffer("rollouts")
        with training(service, tmp_path):
            with playing(service.url):
                seen = updates(service, lambda found: saved(found) > 1, "tables are saved")
            held = buffer.stats().held
        assert held >= 400
        folder = table_folder(tmp_path / "tables" / "checkpoints" / "main", "rollouts")
        assert table_of(folder, 1, 10**9) is not None
        ray.kill(ray.get_actor(buffer_host("rollouts"), namespace=service.trial.namespace), no_restart=False)
        with training(service, tmp_path, resume=True):
            again = updates(service, lambda found: len(learned(found)) > 1, "learning goes on without a game")
            newest = learned(again)[-1]
            assert newest.number > seen[-1].number
            assert buffer.stats().held >= newest.metrics["table_items_restored"] >= held


def learned(seen: list[Update]) -> list[Update]:
    return [update for update in seen if update.metrics]


def saved(seen: list[Update]) -> float:
    return max((update.metrics.get("tables_saved", 0.0) for update in seen), default=0.0)
