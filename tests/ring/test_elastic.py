"""A trainer with a range of workers: as many as there is room for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from train.checkpoint import Checkpoints, load_state

from .service import Cluster, Service, playing
from .training import training, updates

pytestmark = [pytest.mark.ray, pytest.mark.long]


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Service]:
    with Service(cluster, "elastic", "trainers.main.workers={min: 1, max: 2}") as running:
        yield running


@pytest.mark.parametrize(("num_cpus", "workers"), [(0.1, 2), (2.5, 1)])
def test_as_many_workers_train_as_there_is_room_for(
    num_cpus: float, workers: int, service: Service, tmp_path: Path
) -> None:
    with playing(service.url, games=32), training(service, tmp_path, f"trainers.main.num_cpus={num_cpus}"):
        updates(service, lambda found: len(found) > 3, "updates")
    newest = Checkpoints(tmp_path / "elastic" / "checkpoints" / "main").newest()
    assert newest is not None
    assert len(load_state(newest).progress.random) == workers
