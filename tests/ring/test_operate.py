"""Two trials side by side on one cluster, as an operator sees and stops them."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.metadata import EntryPoint
from typing import Any

import httpx
import pytest
from ray import serve
from typer.testing import CliRunner

from app.command_line import GROUP, build
from app.errors import ConfigError
from tests.metrics.test_prometheus import parsed

from .service import Cluster, Service, observation, wait_until, whole

pytestmark = pytest.mark.ray

ENTRIES = {name: EntryPoint(name, f"deployments.operate.commands:{name}", GROUP) for name in ("status", "stop")}


def run(*words: str) -> tuple[int, str, BaseException | None]:
    result = CliRunner().invoke(build(ENTRIES, list(words)), list(words), env={"COLUMNS": "250"})
    return result.exit_code, result.output, result.exception


def told(*words: str) -> Any:
    code, output, error = run(*words, "--json")
    assert code == 0, error
    return json.loads(output.splitlines()[-1])


def trials() -> dict[str, Any]:
    return {trial["trial"]: trial for trial in told("status")["trials"]}


def shown(url: str) -> dict[str, Any]:
    """Returns what is shown of a session; nothing while its replica is busy."""
    reply = httpx.get(url, timeout=30)
    return dict(reply.json()) if reply.status_code == 200 else {}


def metrics_of_all(service: Service) -> dict[str, dict[Any, float]] | None:
    """Returns the metrics of a node, once all its replicas tell theirs."""
    found = parsed(httpx.get(f"{service.url}/metrics", timeout=30).content)
    return found if found["sparring_node_replicas_silent"] == {(): 0} else None


@pytest.fixture(scope="module")
def two(cluster: Cluster) -> Iterator[tuple[Service, Service]]:
    with ExitStack() as stack:
        kept = ("actors.main.replicas=2", "actors.main.limits.idle_timeout_s=600")
        first = stack.enter_context(Service(cluster, "stays", *kept))
        second = stack.enter_context(Service(cluster, "goes"))
        yield first, second


def test_where_nothing_runs_that_is_said(cluster: Cluster) -> None:
    assert serve.status().applications == {}
    code, output, _ = run("status")
    assert (code, output.startswith("nothing of Sparring runs on the Ray cluster at ")) == (0, True)
    assert told("status")["trials"] == []
    code, output, _ = run("stop")
    assert (code, output.startswith("nothing to stop")) == (0, True)
    assert told("stop", "cartpole.nowhere")["stopped"] == []


def test_both_trials_are_shown_with_their_own_ports_and_sessions(two: tuple[Service, Service]) -> None:
    first, second = two
    for service, sessions in ((first, 3), (second, 1)):
        for number in range(sessions):
            assert service.step(f"game-{number}", "start").status_code == 200
    version = second.publish(seed=1)
    wait_until(lambda: trials()["stays"]["sessions"] == 3, "the replicas have reported")
    wait_until(lambda: trials()["goes"]["sessions"] == 1, "the replica has reported")
    found = trials()
    assert (
        found["stays"]["actors"]["main"]["port"] == first.port != second.port == found["goes"]["actors"]["main"]["port"]
    )
    assert len(found["stays"]["actors"]["main"]["replicas"]) == 2
    assert [a["name"] for a in found["goes"]["applications"]] == ["goes"]
    assert found["goes"]["weights"] == {"main": str(version)}
    assert found["stays"]["weights"] == {"main": None}
    assert found["stays"]["counts"]["starts"] == 3
    assert found["stays"]["mode"] == "train"
    code, output, _ = run("status")
    assert code == 0
    assert "cartpole.stays" in output
    assert "cartpole.goes" in output


def test_any_replica_answers_for_its_node(two: tuple[Service, Service]) -> None:
    service = two[0]
    answers = [whole(f"{service.url}/sessions") for _ in range(6)]  # A connection each.
    assert {tuple(s["id"] for s in answer["sessions"]) for answer in answers} == {("game-0", "game-1", "game-2")}
    assert {answer["next"] for answer in answers} == {None}
    one = wait_until(lambda: shown(f"{service.url}/sessions/game-1"), "its replica answers")
    assert (one["game"], one["agent"], one["purpose"], one["seq"]) == ("game-1", "player", "train", 0)
    assert httpx.get(f"{service.url}/sessions/nobody", timeout=30).status_code == 404
    metrics = wait_until(lambda: metrics_of_all(service), "both replicas answer")
    assert sum(metrics["sparring_starts_total"].values()) == 3
    assert sum(metrics["sparring_sessions"].values()) == 3
    assert len(metrics["sparring_replica_up"]) == 2


def test_serves_port_answers_for_all_nodes_and_sends_an_operator_to_one_for_its_own(
    two: tuple[Service, Service],
) -> None:
    service = two[0]
    page = whole(f"{service.serve_url}/sessions?limit=2")
    assert ([session["id"] for session in page["sessions"]], page["next"]) == (["game-0", "game-1"], "game-1")
    there = wait_until(lambda: shown(f"{service.serve_url}/sessions/game-2"), "its replica answers")
    assert there["id"] == "game-2"
    assert len(whole(f"{service.serve_url}/replicas")["replicas"]) == 2
    reply = httpx.get(f"{service.serve_url}/node", timeout=30)
    assert (reply.status_code, reply.headers["location"]) == (307, f"{service.url}/node")
    followed = httpx.get(f"{service.serve_url}/metrics", follow_redirects=True, timeout=30)
    assert followed.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert httpx.get(f"{service.serve_url}/openapi.json", timeout=30).json()["openapi"] == "3.1.0"


def test_one_of_two_trials_is_stopped_only_by_its_name_and_the_other_plays_on(two: tuple[Service, Service]) -> None:
    first, second = two
    code, _, error = run("stop")
    assert code == 1
    assert isinstance(error, ConfigError)
    assert "2 trials run: cartpole.goes, cartpole.stays" in str(error)

    stopped = told("stop", "cartpole.goes")["stopped"]
    assert [(done["trial"], done["applications"]) for done in stopped] == [("cartpole.goes", ["goes"])]
    assert set(trials()) == {"stays"}
    assert set(serve.status().applications) == {"stays"}
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{second.url}/healthz")

    for number in range(3):
        assert first.step(f"game-{number}", "tick", observation()).status_code == 200
    assert told("stop", "cartpole.goes")["stopped"] == []  # Nothing is left to stop, and that is no failure.


def test_a_trial_that_was_stopped_can_be_started_again_on_its_port(two: tuple[Service, Service]) -> None:
    second = two[1]
    second.http.close()
    second.deploy()
    assert second.step("again", "start").status_code == 200
    assert {trial["trial"] for trial in told("status")["trials"]} == {"stays", "goes"}


def test_the_last_step_is_to_stop_everything(two: tuple[Service, Service]) -> None:
    assert len(told("stop", "--all")["stopped"]) == 2
    assert told("status")["trials"] == []
    assert serve.status().applications == {}
