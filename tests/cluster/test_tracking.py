"""An MLflow server on another node: away or back, it slows no step, and nothing is lost."""

from pathlib import Path

import pytest

from app.stores.mlflow_store import prepare, tracking_uri
from tests.mlflow_server import unstarted
from tests.ring.service import wait_until
from tests.tracked import assert_no_step_is_slowed, log, stored
from train.mlflow_run import TrackedTrial
from train.tracking import Tracker

from .nodes import Nodes

pytestmark = pytest.mark.cluster


def test_a_server_whose_link_is_cut_slows_no_step_and_gets_everything_later(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "2")
    prepare(tracking_uri(None, tmp_path), tmp_path)
    there = ("ip", "netns", "exec", nodes.other.name)
    with unstarted(tmp_path, nodes.other.address, there) as server:
        server.start()
        tracker = Tracker(server.uri, tmp_path, TrackedTrial("served", "elsewhere", {"seed": 1}))
        tracker.start()
        spent_s = log(tracker, range(100))
        run_id = tracker.run_id(timeout_s=150)
        wait_until(lambda: len(stored(tmp_path, run_id)) == 100, "all have arrived")
        with nodes.other.cut_off():
            spent_s += log(tracker, range(100, 200))
            wait_until(lambda: "is away" in caplog.text, "it is told that the server is away")
            spent_s += log(tracker, range(200, 300))
        wait_until(lambda: len(stored(tmp_path, run_id)) == 300, "all have arrived", 60)
        assert tracker.close("FINISHED", timeout_s=60)
        assert [step for _, step, _ in stored(tmp_path, run_id)] == list(range(300))
        assert tracker.dropped == 0
        assert_no_step_is_slowed(spent_s)
