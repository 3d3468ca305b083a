"""Training beside a service that plays: one worker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.stores.metrics import Update
from app.types import Purpose
from train.checkpoint import Checkpoints, load_state
from train.run import TrainingRun

from .service import Cluster, Service, observation, playing, wait_until
from .training import training, updates

pytestmark = [pytest.mark.ray, pytest.mark.timeout(180)]

CREDITS, MAX_LAG = 2, 8
CHECKPOINT_EVERY = "trainers.main.checkpoint_every_s=1"


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Service]:
    with Service(cluster, "ring", f"buffers.rollouts.max_policy_lag={MAX_LAG}") as running:
        yield running


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def ring(service: Service, home: Path) -> Iterator[TrainingRun]:
    """A service in whose buffer rows of an older generation wait, then a trainer, then game cores."""
    service.publish(seed=1)
    with playing(service.url):
        wait_until(lambda: service.trial.buffer("rollouts").stats().held >= 256, "rows of an older generation wait")
    with training(service, home, CHECKPOINT_EVERY) as run, playing(service.url):
        yield run


def test_rows_of_an_older_generation_are_dropped_and_counted(service: Service, ring: TrainingRun) -> None:
    seen = updates(service, lambda found: len(found) > 2, "the first updates")
    assert sum(update.metrics.get("rows_other_generation", 0) for update in seen) > 100


def test_new_weights_are_played_without_a_restart(service: Service, ring: TrainingRun) -> None:
    def state() -> tuple[str, bytes]:
        answered = service.step(body=observation(0.5, 1.0, 0.1, 1.0))
        return answered.headers["policy_version"], answered.content

    pid = service.status()["pid"]
    version, _ = state()
    generation, number = map(int, version.split("."))
    wait_until(lambda: int(state()[0].split(".")[1]) > number + 5, "newer versions answer")
    assert int(state()[0].split(".")[0]) == generation
    assert service.status()["pid"] == pid


def test_learning_changes_the_answers(service: Service, ring: TrainingRun) -> None:
    falling = [observation(0.0, 1.0, 0.15 * side, 1.5 * side) for side in (-1, 1)]

    def catches() -> bool:
        answers = []
        for state in falling:  # A pole that falls to the right is caught by a push to the right.
            step = service.step("evaluated", "start", purpose="evaluate")
            step = service.step("evaluated", "tick", state)
            answers.append(step.json()["action"])
            service.step("evaluated", "stop")
        return answers == [0, 1]

    wait_until(catches, "a falling pole is caught", 60)


def test_the_mean_return_improves(service: Service, ring: TrainingRun) -> None:
    def mean() -> float | None:
        return service.trial.metrics.progress(50).mean_return

    wait_until(lambda: (mean() or 0) > 60, "a mean return three times that of chance", 60)
    assert sum(service.trial.metrics.returns(Purpose.TRAIN)[:50]) / 50 < 40


def test_no_more_batches_are_under_way_than_there_are_credits(service: Service, ring: TrainingRun) -> None:
    buffer = service.trial.buffer("rollouts")
    assert max(buffer.stats().under_way for _ in range(200)) <= CREDITS


def test_no_row_is_learned_from_beyond_the_lag_bound(service: Service, ring: TrainingRun) -> None:
    seen = updates(service, lambda found: len(found) > 20, "20 updates")
    lags = [update.metrics["lag_max"] for update in seen]
    assert 0 < max(lags) <= MAX_LAG
    assert all(update.metrics["rows"] > 0 for update in seen)


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
    newest: Update = service.trial.metrics.updates_after(0)[-1]
    return newest.number if service.trial.metrics.progress(1).time_s - newest.time_s > 1.5 else None


def test_closing_the_stream_ends_training_with_a_checkpoint(service: Service, home: Path) -> None:
    folder = home / "closed"
    with playing(service.url):
        with training(service, folder):
            updates(service, lambda found: len(found) > 3, "updates")
        done = service.trial.metrics.updates_after(0)[-1].number
        newest = Checkpoints(folder / "ring" / "checkpoints", 3).newest()
        assert newest is not None
        assert load_state(newest).updates == done


def test_a_resumed_run_goes_on_at_the_checkpoints_update_in_a_higher_generation(service: Service, home: Path) -> None:
    newest = Checkpoints(home / "closed" / "ring" / "checkpoints", 3).newest()
    assert newest is not None
    saved = load_state(newest)
    with training(service, home / "closed", resume=True), playing(service.url):
        seen = updates(service, lambda found: len(found) > 1 and found[1].number > 0, "updates")
    assert [update.number for update in seen[:2]] == [saved.updates, saved.updates + 1]
    version = service.trial.weights("main").newest()
    assert version is not None
    assert version.generation > saved.generation


def test_a_run_that_is_not_resumed_begins_anew(service: Service, home: Path) -> None:
    with training(service, home / "closed", "trainers.main.max_updates=2"), playing(service.url):
        seen = updates(service, lambda found: len(found) == 3, "all updates")
    assert [update.number for update in seen] == [0, 1, 2]
