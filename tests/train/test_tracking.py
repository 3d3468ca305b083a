import logging
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from app.errors import TrackingError
from app.stores import mlflow_connection
from app.stores.mlflow_store import prepare, tracking_uri
from tests.tracked import log, stored, until
from train import tracking
from train.mlflow_run import MlflowRun, TrackedTrial
from train.tracking import CAPACITY_UPDATES, LOOK_S, Tracker

START_S = 30.0


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("state")
    prepare(tracking_uri(None, root), root)
    return root


@pytest.fixture(scope="module")
def uri(root: Path) -> str:
    return tracking_uri(None, root)


def test_a_run_holds_the_trials_tags_params_config_and_metrics(uri: str, root: Path) -> None:
    trial = TrackedTrial("recorded", "first", {"run": {"seed": 3}}, git_commit="abc123")
    tracker = Tracker(uri, root, trial)
    tracker.check()
    tracker.start()
    tracker.log(1, {"loss/policy": 0.5, "episode score (mean)": 2.0}, time_s=12.5)
    assert tracker.close("FINISHED", timeout_s=20)
    client = MlflowClient(uri)
    run = client.get_run(tracker.run_id(timeout_s=0))
    assert run.info.status == "FINISHED"
    assert run.info.run_name == "first"
    assert client.get_experiment(run.info.experiment_id).name == "recorded"
    assert run.data.params == {"run.seed": "3"}
    assert (
        run.data.tags.items() >= {"project": "recorded", "trial": "first", "mlflow.source.git.commit": "abc123"}.items()
    )
    assert run.data.metrics == {"loss/policy": 0.5, "episode score _mean_": 2.0}
    assert client.get_metric_history(run.info.run_id, "loss/policy")[0].timestamp == 12_500
    config = client.download_artifacts(run.info.run_id, "config.yaml")
    assert Path(config).read_text() == "run:\n  seed: 3\n"
    assert run.info.artifact_uri.startswith((root / "artifacts" / "recorded").as_uri())


def test_values_that_are_not_finite_are_flagged_and_not_stored(uri: str, root: Path) -> None:
    tracker = Tracker(uri, root, TrackedTrial("flagged", "first", {}))
    tracker.start()
    tracker.log(1, {"loss": float("inf"), "gradient": float("nan"), "fine": 1.0}, time_s=1.0)
    tracker.log(2, {"loss": float("-inf")}, time_s=2.0)
    assert tracker.close("FAILED", timeout_s=20)
    run = MlflowClient(uri).get_run(tracker.run_id(timeout_s=0))
    assert run.data.metrics == {"fine": 1.0}
    assert run.data.tags["sparring.non_finite"] == "gradient × 1, loss × 2"
    assert tracker.non_finite == 3


def test_more_values_than_mlflow_takes_in_one_call_are_all_stored(uri: str, root: Path) -> None:
    tracker = Tracker(uri, root, TrackedTrial("many", "first", {}))
    tracker.start()
    tracker.log(1, {f"m{index}": 1.0 for index in range(2500)}, time_s=1.0)
    tracker.log(2, {"nan": float("nan")}, time_s=1.0)
    assert tracker.close("FINISHED", timeout_s=20)
    assert len(stored(root, tracker.run_id(timeout_s=0))) == 2500


def test_a_run_can_be_resumed_and_keeps_its_params(uri: str, root: Path) -> None:
    first = Tracker(uri, root, TrackedTrial("resumed", "first", {"seed": 1}))
    first.start()
    log(first, range(3))
    assert first.close("KILLED", timeout_s=20)
    run_id = first.run_id(timeout_s=0)
    second = Tracker(uri, root, TrackedTrial("resumed", "first", {"seed": 2}, run_id=run_id))
    second.start()
    log(second, range(3, 5))
    assert second.close("FINISHED", timeout_s=20)
    assert second.run_id(timeout_s=0) == run_id
    assert [step for _, step, _ in stored(root, run_id)] == [0, 1, 2, 3, 4]
    run = MlflowClient(uri).get_run(run_id)
    assert (run.info.status, run.data.params) == ("FINISHED", {"seed": "1"})
    assert Path(MlflowClient(uri).download_artifacts(run_id, "config.yaml")).read_text() == "seed: 2\n"


def test_resuming_an_unknown_run_is_refused_with_its_id(uri: str, root: Path) -> None:
    tracker = Tracker(uri, root, TrackedTrial("unknown", "first", {}, run_id="0123456789"))
    tracker.start()
    with pytest.raises(TrackingError, match="0123456789"):
        tracker.run_id(timeout_s=20)
    log(tracker, range(3))
    assert not tracker.close("FAILED", timeout_s=20)
    assert tracker.dropped == 3


def test_updates_that_the_store_refuses_are_counted_and_logged_once(
    uri: str, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tracker = Tracker(uri, root, TrackedTrial("refused", "first", {}))
    tracker.start()
    MlflowClient(uri).delete_run(tracker.run_id(timeout_s=20))
    log(tracker, range(2))
    until(lambda: tracker.dropped == 2)
    log(tracker, range(2, 4))
    until(lambda: tracker.dropped == 4)
    tracker.close("FINISHED", timeout_s=20)
    assert sum("refused" in record.message and record.levelno == logging.WARNING for record in caplog.records) == 1


def test_logging_costs_microseconds_even_when_the_buffer_is_full(tmp_path: Path) -> None:
    tracker = Tracker(tracking_uri(None, tmp_path), tmp_path, TrackedTrial("p", "t", {}))
    metrics = {f"metric_{index}": float(index) for index in range(30)}
    costs_s = []
    for step in range(CAPACITY_UPDATES + 500):
        start_s = time.perf_counter()
        tracker.log(step, metrics, time_s=1.0)
        costs_s.append(time.perf_counter() - start_s)
    assert statistics.median(costs_s) < 20e-6
    assert tracker.dropped == 500


def test_a_tracker_that_was_never_started_closes_at_once_and_counts_what_it_held(tmp_path: Path) -> None:
    tracker = Tracker(tracking_uri(None, tmp_path), tmp_path, TrackedTrial("p", "t", {}))
    log(tracker, range(2))
    assert not tracker.close("FINISHED", timeout_s=1)
    assert tracker.dropped == 2
    with pytest.raises(TrackingError, match="opened no run"):
        tracker.run_id(timeout_s=0)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Keeps runs from being opened until it is set."""
    gate, opens = threading.Event(), MlflowRun.open

    def opened(run: MlflowRun) -> None:
        gate.wait(START_S)
        opens(run)

    monkeypatch.setattr(MlflowRun, "open", opened)
    yield gate
    gate.set()


def test_a_store_that_takes_its_time_is_waited_for_longer_than_one_that_is_away(
    uri: str, root: Path, gate: threading.Event
) -> None:
    tracker = Tracker(uri, root, TrackedTrial("slow", "first", {}))
    tracker.start()
    with ThreadPoolExecutor(1) as waiter:
        waiting = waiter.submit(tracker.run_id, 0.0)
        with pytest.raises(TimeoutError):
            waiting.result(3 * LOOK_S)
        gate.set()
        run_id = waiting.result(START_S)
    assert tracker.close("FINISHED", timeout_s=20)
    assert MlflowClient(uri).get_run(run_id).info.status == "FINISHED"


def test_a_store_that_is_never_opened_is_not_waited_for_without_end(
    uri: str, root: Path, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "OPENING_S", 0.0)
    tracker = Tracker(uri, root, TrackedTrial("slow", "second", {}))
    tracker.start()
    with pytest.raises(TrackingError, match="opened no run within 0 s; it has not failed, but is not open yet"):
        tracker.run_id(START_S)
    gate.set()
    assert tracker.close("FINISHED", timeout_s=20)


def test_a_store_that_is_away_is_waited_for_as_long_as_is_said(tmp_path: Path) -> None:
    tracker = Tracker("http://127.0.0.1:9", tmp_path, TrackedTrial("p", "t", {}))
    tracker.start()
    begun_s = time.monotonic()
    with pytest.raises(TrackingError, match=r"127\.0\.0\.1:9 has opened no run within \d+ s; see the log"):
        tracker.run_id(1.0)
    assert 1.0 <= time.monotonic() - begun_s < tracking.OPENING_S / 2
    tracker.close("FAILED", timeout_s=0)


def test_a_store_that_cannot_be_used_is_found_before_the_start(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_text("not a database, but long enough to be one")
    with pytest.raises(TrackingError, match="not an sqlite database"):
        Tracker(tracking_uri(None, tmp_path), tmp_path, TrackedTrial("p", "t", {})).check()


def test_a_server_that_accepts_but_never_answers_is_found_within_its_time_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mlflow_connection, "CHECK_TIMEOUT_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        tracker = Tracker(f"http://127.0.0.1:{silent.getsockname()[1]}", tmp_path, TrackedTrial("p", "t", {}))
        start_s = time.monotonic()
        with pytest.raises(TrackingError, match="does not answer"):
            tracker.check()
        assert time.monotonic() - start_s < 20  # MLflow itself would try for minutes.
