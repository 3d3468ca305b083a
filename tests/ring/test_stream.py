"""Rows on their way from game cores to whoever learns; the test itself takes the place of the learner."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import ray
import torch
from numpy.typing import NDArray

from app.models.distributions.action import log_prob_and_entropy
from app.models.module import from_arrays, spec_of
from app.stores.buffer import BufferStats
from app.stores.buffer_store import EMPTY_ROUND
from app.types import Arrays, RowKind, Rows, Version

from .learner import Learner
from .service import Cluster, Service, observation, playing, wait_until

pytestmark = pytest.mark.ray

BATCH_ROWS = 256
CREDITS = 2
SETTLED = 10
"""Looks at the buffer between which nothing may arrive: half a second."""


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Service]:
    with Service(cluster, "stream", "actors.main.limits.idle_timeout_s=4") as running:
        yield running


@pytest.fixture
def learner(service: Service, request: pytest.FixtureRequest) -> Iterator[Learner]:
    """Joins the buffer, and empties it afterwards."""
    learner = Learner(service.trial.buffer("rollouts"), request.node.name)
    yield learner
    learner.close()


def of_version(rows: Rows, version: Version) -> NDArray[np.bool_]:
    return (rows["weight"] > 0) & (rows["generation"] == version.generation) & (rows["version"] == version.number)


def log_probs(service: Service, arrays: Arrays, rows: Rows) -> NDArray[np.float32]:
    """Returns what a learner with these weights thinks of the rows' actions."""
    module = service.module(seed=0)
    from_arrays(module, arrays)
    state, action, mask = (torch.from_numpy(rows[name]) for name in ("observation", "action", "action_mask"))
    with torch.no_grad():
        log_prob, _ = log_prob_and_entropy(spec_of(module).actions, [module(state).dist_inputs], [action], [mask > 0])
    found: NDArray[np.float32] = log_prob.numpy()
    return found


def test_untrained_ticks_are_answered_but_not_recorded(service: Service) -> None:
    assert service.trial.weights("main").newest() is None
    with playing(service.url) as game_core:
        wait_until(lambda: service.status()["counts"].get("ticks_train", 0) > 200, "games are played")
    assert game_core.result().errors == 0
    assert service.trial.buffer("rollouts").stats().inserted == 0


def test_each_rows_log_probability_is_that_of_its_version(service: Service, learner: Learner) -> None:
    weights = service.trial.weights("main")
    with playing(service.url):
        for seed in (1, 2, 3, 4):
            version = service.publish(seed)
            assert weights.pin() == version
            rows = wait_until(lambda v=version: _rows_of(learner.next(), v), f"rows of {version} arrive")
            np.testing.assert_allclose(log_probs(service, weights.load(version), rows), rows["log_prob"], atol=1e-5)
            weights.unpin(version)


def _rows_of(batch: Rows, version: Version) -> Rows | None:
    chosen = of_version(batch, version)
    return {name: column[chosen] for name, column in batch.items()} if chosen.any() else None


def test_a_batch_holds_whole_trajectories_of_single_games(service: Service, learner: Learner) -> None:
    service.publish(seed=1)
    with playing(service.url, games=16):
        batches = [learner.next() for _ in range(8)]
    for batch in batches:
        assert len(batch["kind"]) == BATCH_ROWS
        ends = np.flatnonzero(batch["kind"] != RowKind.STEP)
        assert ends[-1] == BATCH_ROWS - 1
        for begin, end in zip([0, *(ends[:-1] + 1)], ends, strict=True):
            assert len(set(batch["episode"][begin : end + 1].tolist())) == 1
            assert np.diff(batch["tick"][begin:end]).tolist() == [1] * (end - begin - 1)
    rows = {name: np.concatenate([batch[name] for batch in batches]) for name in ("weight", "episode", "tick")}
    counted = rows["weight"] > 0
    names = set(zip(rows["episode"][counted].tolist(), rows["tick"][counted].tolist(), strict=True))
    assert len(names) == counted.sum()  # No row is handed out twice.


def test_no_more_batches_are_under_way_than_there_are_credits(service: Service, learner: Learner) -> None:
    service.publish(seed=1)
    buffer = learner.buffer
    with playing(service.url), ThreadPoolExecutor(1) as thread:
        taken = [learner.take() for _ in range(CREDITS)]
        before = buffer.stats()
        third = thread.submit(learner.take)
        # More than enough for another batch arrives, and waits.
        wait_until(lambda: buffer.stats().inserted > before.inserted + 3 * BATCH_ROWS, "rows arrive")
        assert buffer.stats().under_way == CREDITS
        assert not third.done()
        learner.release(taken[0])
        learner.release(third.result(timeout=10))
        learner.release(taken[1])


def test_what_nobody_takes_is_dropped_from_the_old_end_and_counted(service: Service, learner: Learner) -> None:
    service.publish(seed=1)
    before = learner.buffer.stats()
    with playing(service.url):
        wait_until(lambda: learner.buffer.stats().dropped > before.dropped + 1000, "rows are dropped")
    stats = learner.buffer.stats()
    assert stats.inserted == stats.popped + stats.dropped + stats.held
    assert BATCH_ROWS <= stats.held <= 4 * BATCH_ROWS


def settled(learner: Learner) -> BufferStats:
    """Returns what the buffer did, once the last rows of the games have arrived."""
    seen = [learner.buffer.stats()]

    def still() -> bool:
        seen.append(learner.buffer.stats())
        return len(seen) > SETTLED and len({stats.inserted for stats in seen[-SETTLED:]}) == 1

    wait_until(still, "no more rows come")
    return seen[-1]


def test_a_repeated_push_is_stored_once(service: Service, learner: Learner) -> None:
    service.publish(seed=1)
    with playing(service.url):
        rows = learner.next()
    del rows["batch"], rows[EMPTY_ROUND]
    rows["episode"] = rows["episode"] + 2**60  # Of games that nobody has played yet.
    before = settled(learner)
    for _ in range(3):
        ray.get(learner.buffer.push("retrying", 1, rows))
    after = learner.buffer.stats()
    assert after.inserted - before.inserted == BATCH_ROWS
    assert after.repeated_pushes - before.repeated_pushes == 2


def test_a_push_whose_sender_died_before_the_acknowledgement_is_stored_once(service: Service, learner: Learner) -> None:
    service.publish(seed=1)
    with playing(service.url):
        rows = learner.next()
    del rows["batch"], rows[EMPTY_ROUND]
    rows["episode"] = rows["episode"] + 2**61  # Of games that nobody has played yet.
    before = settled(learner)
    namespace = service.trial.namespace

    @ray.remote(num_cpus=0, max_retries=2)
    def push_and_die() -> str:
        from app.stores.trial import Trial  # noqa: PLC0415  # It runs in another process.

        buffer = Trial(namespace).buffer("rollouts")
        repeated = buffer.stats().repeated_pushes
        ray.get(buffer.push("dying", 1, rows))
        if buffer.stats().repeated_pushes == repeated:
            os._exit(1)  # The first time: the rows are stored, and Ray runs the task again.
        return "stored"

    assert ray.get(push_and_die.remote()) == "stored"
    after = learner.buffer.stats()
    assert after.inserted - before.inserted == BATCH_ROWS
    assert after.repeated_pushes - before.repeated_pushes == 1


def test_games_of_a_killed_game_core_are_closed_as_truncated_and_others_go_on(
    service: Service, learner: Learner
) -> None:
    service.publish(seed=1)
    service.step("other", "start")
    command = [sys.executable, "-m", "app.client", "--games=4", f"--url={service.url}", "--env=CartPole-v1"]

    def open_beside(games: int) -> bool:  # A tick each time, so that the other game is never idle.
        assert service.step("other", "tick", observation()).status_code == 200
        return service.status()["sessions"] == 1 + games

    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as game_core:
        wait_until(lambda: open_beside(4), "the game core plays")
        closed = service.status()["counts"].get("closed_idle", 0)
        game_core.send_signal(signal.SIGKILL)
    wait_until(lambda: open_beside(0), "the killed core's games are closed")
    assert service.status()["counts"]["closed_idle"] == closed + 4
    service.step("other", "stop")


def test_closing_the_buffer_ends_the_stream(service: Service, learner: Learner, request: pytest.FixtureRequest) -> None:
    service.publish(seed=1)
    with playing(service.url):
        learner.next()
        learner.close()
        wait_until(lambda: learner.buffer.take(0, request.node.name) is None, "the stream ends")
