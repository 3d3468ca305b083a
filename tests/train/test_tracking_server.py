import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx
import pytest
from mlflow.tracking import MlflowClient

from app.stores.mlflow_store import ModelRegistry, prepare, tracking_uri
from tests.http_thread import answering
from tests.mlflow_server import Server, unstarted
from tests.tracked import assert_no_step_is_slowed, log, stored, until
from train.mlflow_run import TrackedTrial
from train.tracking import Tracker

pytestmark = pytest.mark.mlflow

STARTED_S = 150
"""Longest wait for a run of a server that may still have to start, between the tracker's pauses."""
SOON_S = 20
"""Longest end against a server that is frozen all the while, on a slow machine."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("state")
    prepare(tracking_uri(None, root), root)
    return root


@pytest.fixture
def late(root: Path) -> Iterator[Server]:
    with unstarted(root) as server:
        yield server


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Server]:
    with unstarted(root) as server:
        server.start()
        yield server


def test_a_server_that_starts_late_freezes_and_comes_back_slows_no_step_and_loses_nothing(
    late: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "2")
    tracker = Tracker(late.uri, late.root, TrackedTrial("served", "first", {"seed": 1}))
    tracker.start()
    spent_s = log(tracker, range(100))
    until(lambda: "is away" in caplog.text)
    late.start()
    run_id = tracker.run_id(timeout_s=STARTED_S)
    until(lambda: len(stored(late.root, run_id)) == 100)
    caplog.clear()
    with late.frozen():
        spent_s += log(tracker, range(100, 200))
        until(lambda: "is away" in caplog.text)
        spent_s += log(tracker, range(200, 300))
        assert sum("is away" in record.message for record in caplog.records) == 1
    assert tracker.close("FINISHED", timeout_s=60)
    assert [(step, value) for _, step, value in stored(late.root, run_id)] == [(n, float(n)) for n in range(300)]
    assert tracker.dropped == 0
    assert_no_step_is_slowed(spent_s)


def test_closing_against_a_frozen_server_ends_in_time_and_counts_what_is_left(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "2")
    tracker = Tracker(server.uri, server.root, TrackedTrial("served", "second", {}))
    tracker.start()
    tracker.run_id(timeout_s=STARTED_S)
    with server.frozen():
        log(tracker, range(10))
        start_s = time.monotonic()
        assert not tracker.close("FINISHED", timeout_s=0.5)
        assert time.monotonic() - start_s < SOON_S
        assert tracker.dropped == 10
        until(lambda: not tracker._thread.is_alive(), timeout_s=30)


def test_a_model_goes_to_a_server_and_back(server: Server, tmp_path: Path) -> None:
    tracker = Tracker(server.uri, server.root, TrackedTrial("served", "third", {}))
    tracker.start()
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights.safetensors").write_bytes(b"weights")
    registry = ModelRegistry(server.uri, tmp_path)
    run_id = tracker.run_id(timeout_s=STARTED_S)
    assert registry.register("served.model", tmp_path / "model", run_id, {"updates": "7"}, "champion") == 1
    assert tracker.close("FINISHED", timeout_s=60)
    got = registry.download("models:/served.model@champion", tmp_path / "to")
    assert (got / "weights.safetensors").read_bytes() == b"weights"


@contextmanager
def slowly(port: int, delay_s: float) -> Iterator[str]:
    """Passes requests on to a server on a port, each a while later; gives the address that does so."""

    class Slow(BaseHTTPRequestHandler):
        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.path != "/health":
                time.sleep(delay_s)  # That is what is tested.
            kept = {name: self.headers[name] for name in ("Content-Type",) if name in self.headers}
            answer = httpx.request(self.command, f"http://127.0.0.1:{port}{self.path}", content=body, headers=kept)
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_POST = do_PATCH = do_PUT = forward  # noqa: N815  # Names of the standard library.

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Says nothing."""

    with answering(Slow) as uri:
        yield uri


def test_a_server_that_takes_two_seconds_for_each_answer_slows_no_step_and_loses_nothing(server: Server) -> None:
    with slowly(server.port, 2.0) as uri:
        tracker = Tracker(uri, server.root, TrackedTrial("served", "slow", {}))
        tracker.start()
        spent_s = log(tracker, range(150))
        run_id = tracker.run_id(timeout_s=STARTED_S)
        spent_s += log(tracker, range(150, 300))
        assert tracker.close("FINISHED", timeout_s=60)
    assert [step for _, step, _ in stored(server.root, run_id)] == list(range(300))
    assert tracker.dropped == 0
    assert_no_step_is_slowed(spent_s)


def test_what_a_run_could_not_send_before_its_end_is_sent_by_the_next_start(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "2")
    cut = Tracker(server.uri, server.root, TrackedTrial("served", "cut", {"seed": 1}), tmp_path)
    cut.start()
    run_id = cut.run_id(timeout_s=STARTED_S)
    with server.frozen():
        log(cut, range(10))
        assert not cut.close("FINISHED", timeout_s=0.5)
        assert (cut.dropped, len(list(tmp_path.iterdir()))) == (0, 1)
        until(lambda: not cut._thread.is_alive(), timeout_s=30)
    never = Tracker("http://127.0.0.1:9", server.root, TrackedTrial("served", "never", {}), tmp_path)
    log(never, range(3))
    assert not never.close("FAILED", timeout_s=0.1)
    after = Tracker(server.uri, server.root, TrackedTrial("served", "after", {}), tmp_path)
    after.start()
    until(lambda: len(stored(server.root, run_id)) == 10)
    assert after.close("FINISHED", timeout_s=60)
    run = MlflowClient(server.uri).get_run(run_id)
    assert (run.info.status, run.data.params) == ("FINISHED", {"seed": "1"})
    assert len(list(tmp_path.iterdir())) == 1  # The one of another store.
