"""A model in a replica of its own."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray
from ray import serve

from app.models.distributions.categorical import choose, log_softmax
from app.models.engine import Answer
from app.models.torch_engine import TorchEngine
from app.seeding import Draws, derive
from app.types import RowKind

from .learner import Learner
from .service import Cluster, Service, observation, playing, steps, wait_until

pytestmark = pytest.mark.ray

STEP_TIMEOUT_S = 8

REMOTE = (
    "models.main.placement=remote",
    "models.main.num_cpus=0.1",
    f"actors.main.limits.step_timeout_s={STEP_TIMEOUT_S}",
)


@pytest.fixture(scope="module", params=["direct", "handle"])
def service(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Service]:
    """A service whose actor asks over its own connections, and one that asks over Serve's handle."""
    changes = [*REMOTE, f"models.main.channel={request.param}", "models.main.batching.wait_ms=2"]
    with Service(cluster, f"remote_{request.param}", *changes) as running:
        yield running


def publish(service: Service, seed: int) -> str:
    version = str(service.send(seed))
    wait_until(lambda: service.step(body=observation()).headers.get("policy_version") == version, "it is played")
    return version


def play(service: Service, session: str, states: NDArray[np.float32]) -> list[int]:
    """Returns the actions of one game, played in one request."""
    ticks = [{"session": session, "kind": "tick", "body": observation(*state)} for state in states.tolist()]
    ends = [{"session": session, "kind": kind} for kind in ("start", "stop")]
    answers = steps(service.http, [ends[0], *ticks, ends[1]])
    return [answer["body"]["action"] for answer in answers[1:-1]]


def test_a_remote_model_decides_as_a_local_one_does(service: Service) -> None:
    publish(service, seed=1)
    learner = Learner(service.trial.buffer("rollouts"), "comparing")
    engine = TorchEngine(service.module(1))
    states = np.random.default_rng(3).normal(size=(4, 80, 4)).astype(np.float32)
    for number, seen in enumerate(states):
        draws = Draws(derive(service.config.run.seed, "player", f"compared-{number}", 1))
        uniforms = np.array([draws.random() for _ in seen])
        expected = choose(log_softmax(engine.forward([seen]).outputs[0]), uniforms)
        assert play(service, f"compared-{number}", seen) == expected.tolist()
    batch = learner.next()
    learner.close()
    rows = {name: column[batch["kind"] == RowKind.STEP] for name, column in batch.items()}
    answer = engine.forward([rows["observation"]])
    log_probs = log_softmax(answer.outputs[0])[np.arange(len(rows["action"])), rows["action"]]
    np.testing.assert_allclose(rows["value"], answer.outputs[1], atol=1e-5)
    np.testing.assert_allclose(rows["log_prob"], log_probs, atol=1e-5)


def test_an_evaluated_session_keeps_its_version_in_the_other_process(service: Service) -> None:
    first = publish(service, seed=1)
    service.step("judged", "start", purpose="evaluate")
    for seed in range(2, 8):  # More than the store keeps by itself.
        newer = publish(service, seed)
    assert service.step("judged", "tick", observation()).headers["policy_version"] == first
    service.step("judged", "stop")
    assert service.step(body=observation()).headers["policy_version"] == newer


@pytest.mark.parametrize("bad", [np.zeros((2, 3), np.float32), np.zeros((2, 4)), np.array([["x"] * 4] * 2)])
async def test_one_bad_call_of_eight_leaves_seven_answers(service: Service, bad: NDArray[np.generic]) -> None:
    model = serve.get_deployment_handle("model-main", service.trial_name)
    calls = [np.zeros((2, 4), np.float32)] * 7 + [bad]
    results = await asyncio.gather(*(model.forward.remote([call], [], None) for call in calls), return_exceptions=True)
    assert [result.outputs[1].shape for result in results[:7] if isinstance(result, Answer)] == [(2,)] * 7
    assert isinstance(results[7], ValueError)
    assert "the model takes float32" in str(results[7])


def test_ticks_fail_with_a_code_while_the_models_process_is_dead_and_recover(service: Service) -> None:
    publish(service, seed=1)
    service.step("survivor", "start")
    replica = service.status()["replica"]
    kill_a_model_replica(service)

    def answered() -> bool:
        began_s = time.monotonic()
        reply = service.step("survivor", "tick", observation(), again_s=0)
        assert time.monotonic() - began_s < STEP_TIMEOUT_S + 20
        if reply.status_code != 200:
            codes.append(reply.json()["code"])
        return reply.status_code == 200

    codes: list[str] = []
    wait_until(answered, "ticks are answered again", 240)
    assert set(codes) <= {"agent_error", "deadline_exceeded", "overloaded"}
    version = service.trial.weights("main").newest()
    wait_until(
        lambda: service.step("survivor", "tick", observation()).headers.get("policy_version") == str(version),
        "the restarted process has the newest weights",
    )
    status = service.status()
    assert (status["replica"], status["healthy"]) == (replica, True)  # Its games live on: of all tasks none has ended.
    service.step("survivor", "stop")
    with playing(service.url) as game_core:
        wait_until(lambda: service.status()["sessions"] == 16, "games are played")
    assert game_core.result().errors == 0


def test_a_killed_replica_of_two_costs_no_tick(cluster: Cluster) -> None:
    patient = ("actors.main.limits.step_timeout_s=30",)
    with Service(cluster, "remote_pair", *REMOTE, *patient, "models.main.replicas=2") as service:
        wait_until(lambda: counts(service).get("model_links", 0) >= 2, "both replicas are reached")
        with playing(service.url) as game_core:
            wait_until(lambda: ticks(service) > 200, "games are played")
            links = counts(service)["model_links"]
            kill_a_model_replica(service)
            wait_until(lambda: counts(service)["model_links"] > links, "a third replica is reached", 120)
            before = ticks(service)
            wait_until(lambda: ticks(service) > before + 200, "games are played on")
        assert game_core.result().errors == 0
        assert counts(service)["model_calls_direct"] > 0


def kill_a_model_replica(service: Service) -> None:
    named = f"{service.trial_name}:model-main"
    children = psutil.Process().children(recursive=True)
    os.kill(next(p.pid for p in children if named in " ".join(_cmdline(p))), signal.SIGKILL)


def counts(service: Service) -> dict[str, int]:
    found: dict[str, int] = service.status()["counts"]
    return found


def ticks(service: Service) -> int:
    return sum(count for name, count in counts(service).items() if name.startswith("ticks"))


def _cmdline(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
