"""The whole ring at work: game cores, service, buffer, trainer, and new weights back."""

from collections.abc import Iterator

import pytest

from app.types import Purpose

from .service import Cluster, Service, observation, playing, wait_until
from .training import START_S, training, updates

pytestmark = pytest.mark.ray

CREDITS, MAX_LAG = 2, 8


@pytest.fixture(scope="module")
def ring(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service in whose buffer rows of an older generation wait, then a trainer, then game cores."""
    with Service(cluster, "ring", f"buffers.rollouts.max_policy_lag={MAX_LAG}") as service:
        service.publish(seed=1)
        with playing(service.url):
            wait_until(lambda: service.trial.buffer("rollouts").stats().held >= 256, "rows of an older generation wait")
        with training(service, tmp_path_factory.mktemp("home")), playing(service.url):
            yield service


def test_rows_of_an_older_generation_are_dropped_and_counted(ring: Service) -> None:
    seen = updates(ring, lambda found: len(found) > 2, "the first updates")
    assert sum(update.metrics.get("rows_other_generation", 0) for update in seen) > 100


def test_new_weights_are_played_without_a_restart(ring: Service) -> None:
    def state() -> tuple[str, bytes]:
        answered = ring.step(body=observation(0.5, 1.0, 0.1, 1.0))
        return answered.headers["policy_version"], answered.content

    pid = ring.status()["pid"]
    updates(ring, bool, "an update")
    newest = ring.trial.weights("main").newest()
    assert newest is not None
    generation = newest.generation
    wait_until(lambda: int(state()[0].split(".")[0]) == generation, "weights of the trainer answer")
    number = int(state()[0].split(".")[1])
    wait_until(lambda: int(state()[0].split(".")[1]) > number + 5, "newer versions answer")
    assert int(state()[0].split(".")[0]) == generation
    assert ring.status()["pid"] == pid


def test_learning_changes_the_answers(ring: Service) -> None:
    falling = [observation(0.0, 1.0, 0.15 * side, 1.5 * side) for side in (-1, 1)]

    def catches() -> bool:
        answers = []
        for state in falling:  # A pole that falls to the right is caught by a push to the right.
            step = ring.step("evaluated", "start", purpose="evaluate")
            step = ring.step("evaluated", "tick", state)
            answers.append(step.json()["action"])
            ring.step("evaluated", "stop")
        return answers == [0, 1]

    wait_until(catches, "a falling pole is caught", START_S)


def test_the_mean_return_improves(ring: Service) -> None:
    def mean() -> float | None:
        return ring.trial.metrics.progress(50).mean_return

    wait_until(lambda: (mean() or 0) > 60, "a mean return three times that of chance", START_S)
    assert sum(ring.trial.metrics.returns(Purpose.TRAIN)[:50]) / 50 < 40


def test_no_more_batches_are_under_way_than_there_are_credits(ring: Service) -> None:
    buffer = ring.trial.buffer("rollouts")
    assert max(buffer.stats().under_way for _ in range(200)) <= CREDITS


def test_no_row_is_learned_from_beyond_the_lag_bound(ring: Service) -> None:
    seen = updates(ring, lambda found: len(found) > 20, "20 updates")
    lags = [update.metrics["lag_max"] for update in seen]
    assert 0 < max(lags) <= MAX_LAG
    assert all(update.metrics["rows"] > 0 for update in seen)
