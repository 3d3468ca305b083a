"""One service, over its game port and over Serve's own port."""

from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from app.models.torch_engine import TorchEngine

from .service import Cluster, Service, observation, step, wait_until

pytestmark = pytest.mark.ray

LIMIT_MB = 0.05


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Service]:
    with Service(cluster, "plain", f"actors.main.limits.max_body_mb={LIMIT_MB}") as running:
        yield running


@pytest.fixture(params=["game port", "serve port"])
def http(request: pytest.FixtureRequest, service: Service) -> Iterator[httpx.Client]:
    url = service.url if request.param == "game port" else service.serve_url
    with httpx.Client(base_url=url, timeout=30) as client:
        yield client


def states(count: int) -> list[list[float]]:
    values: list[list[float]] = np.random.default_rng(5).normal(size=(count, 4)).tolist()
    return values


def actions(http: httpx.Client, session: str, **start: Any) -> list[int]:
    assert step(http, session, "start", **start).status_code == 200
    ticks = [step(http, session, "tick", observation(*state)) for state in states(20)]
    assert step(http, session, "stop", {"terminated": True}).status_code == 200
    return [tick.json()["action"] for tick in ticks]


def test_both_ports_give_a_session_the_same_answers(service: Service) -> None:
    with httpx.Client(base_url=service.serve_url, timeout=30) as other:
        assert actions(service.http, "same", purpose="evaluate") == actions(other, "same", purpose="evaluate")


def test_a_session_that_is_played_again_does_not_explore_in_the_same_way(service: Service) -> None:
    assert actions(service.http, "again") != actions(service.http, "again")


def test_a_batch_of_steps_is_answered_in_order(http: httpx.Client) -> None:
    ticks = [{"session": name, "kind": "tick", "body": observation()} for name in ("one", "two", "one")]
    starts = [{"session": name, "kind": "start"} for name in ("one", "two")]
    stops = [{"session": name, "kind": "stop"} for name in ("one", "two")]
    answers = http.post("/steps", json=[*starts, *ticks, {"session": "none", "kind": "tick"}, *stops]).json()
    assert [answer["session"] for answer in answers] == ["one", "two", "one", "two", "one", "none", "one", "two"]
    assert [sorted(answer["body"]) for answer in answers[2:5]] == [["action"]] * 3
    assert answers[5]["error"]["code"] == "session_unknown"


def test_a_start_without_a_session_mints_one(http: httpx.Client) -> None:
    started = step(http, kind="start")
    session = started.headers["session"]
    assert step(http, session, "tick", observation()).headers["seq"] == "1"
    assert step(http, session, "stop").headers["session"] == session


def test_an_observation_without_a_session_is_answered(http: httpx.Client) -> None:
    assert step(http, body=observation()).json()["action"] in (0, 1)
    assert step(http, kind="auto", body=observation()).json()["action"] in (0, 1)


def test_the_fields_may_stand_in_the_query(http: httpx.Client) -> None:
    assert http.post("/step?session=asked&step_kind=start").status_code == 200
    assert http.post("/step?session=asked", json=observation()).json()["action"] in (0, 1)
    assert http.post("/step?session=asked&step_kind=end").status_code == 200


def test_health_readiness_and_status_are_shown(http: httpx.Client) -> None:
    assert http.get("/healthz").status_code == 200
    assert http.get("/readyz").status_code == 200
    status = http.get("/status").json()
    assert status["ready"] is True
    assert status["versions"].keys() == {"main"}


REFUSED: list[tuple[str, dict[str, str], bytes, int, str]] = [
    ("unknown kind", {"session": "x", "step_kind": "jump"}, b"", 400, "bad_request"),
    ("unknown purpose", {"step_kind": "start", "purpose": "fun"}, b"", 400, "bad_request"),
    ("unknown agent", {"session": "x-agent-nobody", "step_kind": "start"}, b"", 400, "bad_request"),
    ("stop of nothing", {"step_kind": "stop"}, b"", 400, "bad_request"),
    ("wrong seq", {"session": "open", "seq": "one"}, b"{}", 400, "bad_request"),
    ("never started", {"session": "never", "step_kind": "tick"}, b"{}", 404, "session_unknown"),
    ("seq ahead", {"session": "open", "seq": "9"}, b"{}", 409, "seq_gap"),
    ("start anew with seq", {"session": "played", "step_kind": "start", "seq": "0"}, b"", 409, "session_exists"),
    ("no JSON", {"session": "open"}, b"{", 422, "bad_payload"),
    ("no observation", {"session": "open"}, b"{}", 422, "bad_payload"),
    ("wrong shape", {"session": "open"}, b'{"observation": [1, 2]}', 422, "bad_payload"),
    ("unknown option", {"step_kind": "start"}, b'{"speed": 2}', 422, "bad_payload"),
    ("version not kept", {"step_kind": "start"}, b'{"model_version": "99.0"}', 422, "bad_payload"),
    ("too large", {"session": "open"}, b" " * int(2 * LIMIT_MB * 2**20), 413, "body_too_large"),
    ("another protocol", {"session": "open", "protocol": "7"}, b"{}", 426, "protocol_version"),
]


@pytest.mark.parametrize(("fields", "body", "status", "code"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_a_refusal_carries_the_wire_contracts_code(
    service: Service, http: httpx.Client, fields: dict[str, str], body: bytes, status: int, code: str
) -> None:
    for session in ("open", "played"):
        service.step(session, "start")
    service.step("played", "tick", observation())
    reply = http.post("/step", headers=fields, content=body)
    assert (reply.status_code, reply.json()["code"]) == (status, code)
    assert reply.headers["content-type"] == "application/problem+json"
    assert "Traceback" not in reply.json()["detail"]


def test_there_is_nothing_at_other_paths(http: httpx.Client) -> None:
    assert http.get("/nowhere").status_code == 404
    assert http.post("/nowhere").status_code == 404


def test_a_retried_step_gets_its_reply_again(service: Service) -> None:
    first = service.step("again", "start", seq=0)
    assert service.step("again", "start", seq=0).content == first.content
    ticked = service.step("again", "tick", observation(), seq=1)
    assert service.step("again", "tick", observation(9, 9, 9, 9), seq=1).content == ticked.content
    stopped = service.step("again", "stop", {"terminated": True}, seq=2)
    assert service.step("again", "stop", {"terminated": True}, seq=2).content == stopped.content


def test_a_game_core_may_come_back_twice_with_the_same_session(service: Service) -> None:
    before = service.status()["counts"].get("closed_restarted", 0)
    for _ in range(3):
        assert service.step("back", "start").status_code == 200
        assert service.step("back", "tick", observation()).headers["seq"] == "1"
    assert service.status()["counts"]["closed_restarted"] == before + 2
    assert service.step("back", "stop").status_code == 200


def test_only_sessions_that_train_are_recorded(service: Service) -> None:
    service.publish(seed=1)
    buffer = service.trial.buffer("rollouts")
    before = buffer.stats().inserted
    for purpose in ("evaluate", "play"):
        actions(service.http, f"unrecorded-{purpose}", purpose=purpose)
    actions(service.http, "recorded", purpose="train")
    # 20 ticks: an unroll of 16 and one of 4, each with its bootstrap row.
    wait_until(lambda: buffer.stats().inserted - before == 22, "the rows arrive")


def test_an_evaluated_session_keeps_its_version_while_newer_ones_are_published(service: Service) -> None:
    first = service.publish(seed=1)
    service.step("judged", "start", purpose="evaluate")
    newer = service.publish(seed=2)
    assert service.step("judged", "tick", observation()).headers["policy_version"] == str(first)
    service.step("judged", "stop")
    assert service.step(body=observation()).headers["policy_version"] == str(newer)


def test_an_evaluated_session_is_played_greedily_by_its_version(service: Service) -> None:
    service.publish(seed=3)
    expected = TorchEngine(service.module(3)).forward([np.array(states(20), np.float32)]).outputs[0].argmax(1)
    service.step("greedy", "start", purpose="evaluate")
    service.publish(seed=4)
    ticks = [service.step("greedy", "tick", observation(*state)) for state in states(20)]
    service.step("greedy", "stop")
    assert [tick.json()["action"] for tick in ticks] == expected.tolist()


def test_more_versions_than_the_store_keeps_can_be_evaluated_at_once(service: Service) -> None:
    versions, many = [], 12
    for number in range(many):
        versions.append(service.publish(seed=number))
        service.step(f"era-{number}", "start", purpose="evaluate")
    answers = [service.step(f"era-{number}", "tick", observation()) for number in range(many)]
    for number in range(many):
        service.step(f"era-{number}", "stop")
    assert [answer.headers.get("policy_version") for answer in answers] == [str(version) for version in versions]


def test_a_wanted_version_is_played(service: Service) -> None:
    wanted = service.publish(seed=5)
    service.publish(seed=6)
    service.step("wanted", "start", {"model_version": str(wanted)})
    assert service.step("wanted", "tick", observation()).headers["policy_version"] == str(wanted)
    service.step("wanted", "stop")
