"""How training begins, waits, ends and goes on; one worker."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from train.checkpoint import Checkpoints, load_state

from .service import Cluster, Service, playing, wait_until
from .training import training, updates, wait_for_end

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Service]:
    with Service(cluster, "training") as running:
        yield running


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


class Closed(NamedTuple):
    """Training that has ended since its stream was closed."""

    home: Path
    updates: int

    @property
    def checkpoints(self) -> Path:
        return self.home / "training" / "checkpoints" / "main"


@pytest.fixture(scope="module")
def closed(service: Service, home: Path) -> Closed:
    with playing(service.url):
        with training(service, home / "closed"):
            updates(service, lambda found: len(found) > 3, "updates")
        return Closed(home / "closed", service.trial.metrics.updates_after(0)[-1].number)


@pytest.mark.long
def test_training_waits_without_games_and_goes_on_with_them(service: Service, home: Path) -> None:
    with training(service, home / "quiet") as run:
        with playing(service.url):
            updates(service, lambda found: len(found) > 3, "updates")
        quiet = wait_until(lambda: _still(service), "nothing more to learn from")
        assert run.running()
        with playing(service.url):
            updates(service, lambda found: found[-1].number > quiet + 3, "updates")


def _still(service: Service) -> int | None:
    """Returns the number of the newest update once it is older than three heartbeats."""
    newest = service.trial.metrics.updates_after(0)[-1]
    return newest.number if service.trial.metrics.progress(1).time_s - newest.time_s > 1.5 else None


def test_closing_the_stream_ends_training_with_a_checkpoint(closed: Closed) -> None:
    newest = Checkpoints(closed.checkpoints).newest()
    assert newest is not None
    assert load_state(newest).updates == closed.updates


def test_a_resumed_run_goes_on_at_the_checkpoints_update_in_a_higher_generation(
    service: Service, closed: Closed
) -> None:
    newest = Checkpoints(closed.checkpoints).newest()
    assert newest is not None
    saved = load_state(newest)
    with training(service, closed.home, resume=True), playing(service.url):
        seen = updates(service, lambda found: len(found) > 1 and found[1].number > 0, "updates")
    assert [update.number for update in seen[:2]] == [saved.updates, saved.updates + 1]
    version = service.trial.weights("main").newest()
    assert version is not None
    assert version.generation > saved.generation


@pytest.mark.long
def test_a_trainer_that_another_one_follows_ends_and_leaves_the_stream_to_it(
    service: Service, closed: Closed, home: Path
) -> None:
    with playing(service.url), training(service, closed.home) as first:
        began = updates(service, lambda found: len(found) > 3, "updates")
        assert began[0].number == 1  # There is a checkpoint, but nobody asked for it.
        with training(service, home / "second") as second:
            assert wait_for_end(first)
            done = service.trial.metrics.updates_after(0)[-1].number
            updates(service, lambda found: found[-1].number > done + 10, "updates of the second")
            assert second.running()
