"""Errors of a replica, a store and a driver are kept in one place, and say where and in which session."""

import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.exceptions import RayError

from app.logs.errors import Wanted
from app.stores.error_forwarder import end_watching, watch_errors
from deployments.operate.error_commands import errors

from .service import Cluster, Service, wait_until

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Service]:
    agent = "agents.player={factory: 'failing_agent:FailingAgent'}"
    with Service(
        cluster, "errors", "trainers={}", "buffers={}", "launch=null", agent, "run.mode=deploy", "logs.format=json"
    ) as running:
        yield running


def shown(service: Service, count: int) -> list[dict[str, Any]]:
    """Returns the errors that the game port shows once so many came."""

    def ask() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = service.http.get("/errors", params={"traceback": "1"}).json()["errors"]
        return found if sum(error["count"] for error in found) >= count else []

    return wait_until(ask, f"{count} errors came")


def test_an_agents_failure_is_kept_with_session_and_traceback_and_without_secrets(service: Service) -> None:
    service.step("match-7", "start")
    for _ in range(2):
        assert service.step("match-7", body="fail").status_code == 500
    by_module = {error["where"]: error for error in shown(service, 3)}
    assert by_module.keys() == {"my_game", "app.logs.failures"}, by_module
    said, raised = by_module["my_game"], by_module["app.logs.failures"]
    assert (said["where"], said["message"], said["count"]) == (
        "my_game",
        "the board b'\"fail\"' is not legal; token=***",
        2,
    )
    assert raised["session"] == said["session"] == "match-7"
    assert raised["process"].startswith("replica main ")
    assert raised["trial"] == service.trial.namespace.removeprefix("sparring.")
    assert raised["traceback"].endswith("ArithmeticError: on purpose\n")


def test_a_replicas_own_log_is_json_with_trial_process_and_session(service: Service) -> None:
    logs = Path(ray._private.worker._global_node.get_logs_dir_path())
    trial = service.trial.namespace.removeprefix("sparring.")

    def lines() -> list[dict[str, Any]]:
        found = (line for file in logs.glob("worker-*.err") for line in file.read_text("utf-8", "replace").splitlines())
        told = [json.loads(line) for line in found if line.startswith('{"time"')]
        return [line for line in told if line["trial"] == trial and line.get("session") == "match-7"]

    found = wait_until(lines, "the failure of the agent is in the replica's log")
    assert {line["where"] for line in found} >= {"my_game"}
    assert all(line["process"].startswith("replica main ") and "abcdef0123" not in str(line) for line in found)


def test_errors_of_a_driver_and_of_a_store_come_to_the_same_place(service: Service) -> None:
    watch_errors(service.trial.namespace, "driver", service.config.logs)
    try:
        logging.getLogger("train.somewhere").error("it ended early")
        with pytest.raises(RayError):
            service.trial.metrics._handle.get("no_such_method")
    finally:
        end_watching()
    wait_until(lambda: {"driver", "stores"} <= {error["process"] for error in shown(service, 2)}, "both have come")
    found = service.trial.errors.newest_now(Wanted())
    assert found.counts["error"] >= 2


def test_the_command_shows_them_as_text_and_as_json(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    trial = service.trial.namespace.removeprefix("sparring.")
    errors(trial, process="replica", session="match-7", traceback=True)
    text = capsys.readouterr().out
    assert "session match-7" in text
    assert "ArithmeticError: on purpose" in text
    errors(trial, json_=True, limit=1)
    told = json.loads(capsys.readouterr().out)
    assert (told["trial"], len(told["errors"])) == (trial, 1)
    sys.stdout.flush()
