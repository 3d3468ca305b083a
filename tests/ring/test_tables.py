"""A replay table comes back where training goes on, in a service that was started anew."""

from pathlib import Path

import pytest

from app.stores.metrics import Update
from app.stores.table_folder import table_folder, table_of

from .service import Cluster, Service, playing, wait_until
from .training import training, updates

pytestmark = [pytest.mark.ray, pytest.mark.timeout(180)]

DQN = (
    "models.main.factory=app.models.networks.policy:build",
    "models.main.kwargs={observation: {shape: [4]}, action: {choices: 2}, encoder: {kind: mlp, hidden: [16]}, q: {}}",
    "buffers.rollouts.table={capacity_items: 3000, max_age_versions: 1000000, save: {},"
    " limiter: {kind: min_size, min_size_items: 400}}",
    "trainers.main.inputs=[{buffer: rollouts, batch_rows: 64, algorithm: {kind: dqn, minibatch_rows: 64}}]",
    "trainers.main.checkpoints={every_updates: 5}",
)


def learned(seen: list[Update]) -> list[Update]:
    return [update for update in seen if update.metrics]


def test_a_resumed_learner_has_its_table_again_and_goes_on_without_a_game(cluster: Cluster, tmp_path: Path) -> None:
    with Service(cluster, "tables", *DQN) as service, training(service, tmp_path):
        with playing(service.url):
            seen = updates(service, lambda found: saved(found) > 1, "tables are saved")
        held = wait_until(lambda: service.trial.buffer("rollouts").stats().held, "rows are held")
        stopped_at = seen[-1].number
    checkpoints = tmp_path / "tables" / "checkpoints" / "main"
    assert table_of(table_folder(checkpoints, "rollouts"), 1, 10**9) is not None
    with Service(cluster, "tables", *DQN) as service, training(service, tmp_path, resume=True):
        seen = learned(updates(service, lambda found: len(learned(found)) > 1, "learning goes on"))
        assert seen[-1].number > stopped_at
        assert seen[-1].metrics["table_items_restored"] >= held
        assert service.trial.buffer("rollouts").stats().held >= held


def saved(seen: list[Update]) -> float:
    return max((update.metrics.get("tables_saved", 0.0) for update in seen), default=0.0)
