"""Synchronous rollouts in the ring: a batch is of one version, the newest."""

from pathlib import Path

import pytest

from .service import Cluster, Service, playing
from .training import training, updates

pytestmark = pytest.mark.ray

WAIT = ("buffers.rollouts.rollouts=wait", "actors.main.unroll_ticks=1000")


@pytest.mark.parametrize("replicas", [pytest.param(1, marks=pytest.mark.long), 2])
def test_every_row_is_of_the_version_that_learns_from_it(cluster: Cluster, tmp_path: Path, replicas: int) -> None:
    with Service(cluster, f"waiting{replicas}", *WAIT, f"actors.main.replicas={replicas}") as service:
        with playing(service.url), training(service, tmp_path):
            seen = updates(service, lambda found: len(found) > 8, "updates")[1:]
        assert {update.metrics["lag_max"] for update in seen} == {0.0}
        assert sum(update.metrics["rows_too_old"] for update in seen) == 0
        assert min(update.metrics["rows"] for update in seen) > 0.8 * 256  # The others are bootstrap rows.
        stats = service.trial.buffer("rollouts").stats()
        assert stats.dropped < 0.2 * stats.inserted
