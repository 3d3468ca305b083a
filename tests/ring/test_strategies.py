"""Two workers that share a network by other strategies than DDP, and what they save."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.errors import TrainingError
from train.checkpoint import Checkpoints, load_state

from .service import Cluster, Service, playing
from .training import trainer, training, updates, wait_for_end

pytestmark = [pytest.mark.ray, pytest.mark.long]


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Service]:
    with Service(cluster, "strategies", "trainers.main.workers=2") as running:
        yield running


@pytest.mark.parametrize("strategy", ["fsdp", "deepspeed"])
def test_split_training_publishes_saves_and_goes_on(strategy: str, service: Service, tmp_path: Path) -> None:
    settings = (f"trainers.main.strategy.kind={strategy}", "trainers.main.optimizer.ema_decay=0.9")
    with playing(service.url, games=32), training(service, tmp_path, *settings):
        updates(service, lambda found: len(found) > 3, "updates")
    newest = Checkpoints(tmp_path / "strategies" / "checkpoints" / "main").newest()
    assert newest is not None
    saved = load_state(newest)
    assert saved.progress.trained.steps > saved.updates > 0
    assert len(saved.progress.random) == 2
    assert service.trial.weights("main").newest() is not None
    with playing(service.url, games=32), training(service, tmp_path, *settings, resume=True):
        seen = updates(service, lambda found: len(found) > 1, "updates")
    assert seen[0].number == saved.updates
    assert seen[1].number == saved.updates + 1


@pytest.mark.parametrize("strategy", ["fsdp", "deepspeed"])
def test_an_error_in_the_loss_is_told_under_any_strategy(strategy: str, service: Service, tmp_path: Path) -> None:
    broken = ("models.main.factory=broken_models:failing", f"trainers.main.strategy.kind={strategy}")
    run = trainer(service, tmp_path, *broken)
    with playing(service.url, games=32):
        run.start()
        with pytest.raises(TrainingError, match="ArithmeticError: the loss of") as caught:
            wait_for_end(run)
    assert 'broken_models.py", line' in str(caught.value)
