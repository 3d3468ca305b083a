"""The blocking client."""

import gc
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from app.client.errors import (
    ClientClosedError,
    ServiceUnreachableError,
    SessionLostError,
    StepFailedError,
    WaitTimeoutError,
)
from app.client.sync import Client, RetryLimits, Step

from .background import WAIT_S, service_in_thread
from .fake_service import FakeSession

ROOT = Path(__file__).parents[2]
QUICK = RetryLimits(limit_s=20, request_s=5, first_wait_s=0.001, longest_wait_s=0.01)

INTERRUPTED = """
import sys, threading
from app.client.sync import Client

client = Client(sys.argv[1])
try:
    with client:
        with client.start("a") as session:
            session.tick({})
except KeyboardInterrupt:
    print([thread.name for thread in threading.enumerate()])
    raise SystemExit(3)
"""
FORGETFUL = """
import sys
from app.client.sync import Client

print(Client(sys.argv[1]).auto({}).value)
session = Client(sys.argv[1]).start("b")
"""


def newest(session: FakeSession) -> Any:
    return session.steps[-1][2]


def clients_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("sparring client")]


def test_a_game_is_played_without_an_event_loop() -> None:
    with service_in_thread(newest) as service:
        with Client(service.url, purpose="play") as client:
            client.wait_ready(10)
            with client.start(game="g", agent="player", options={"role": "thief"}) as session:
                assert session.tick({"x": 1}).value == {"action": {"x": 1}}
                assert session.stop({"terminated": True}).seq == 2
            assert (session.id, session.open) == ("g-agent-player", False)
            assert client.auto({"y": 2}).value == {"auto": {"y": 2}}
        assert [kind for kind, _, _ in service.sessions["g-agent-player"].steps] == ["start", "tick", "stop"]
    assert clients_threads() == []


def test_a_batch_is_one_request() -> None:
    with service_in_thread(newest) as service, Client(service.url) as client:
        left, right = client.session("left"), client.session("right")
        answers = client.steps([Step(left, kind="start"), Step(left, {"t": 0}), Step(right, kind="start")])
        assert not any(isinstance(answer, StepFailedError) for answer in answers)
        assert service.posts == 1
        assert left.open
        assert right.open


def test_threads_share_a_client() -> None:
    def play(client: Client, thread: int) -> list[Any]:
        seen = []
        for game in range(5):
            with client.start(f"{thread}-{game}") as session:
                seen += [session.tick({"thread": thread, "t": t}).value["action"] for t in range(20)]
        return seen

    with service_in_thread(newest) as service:
        service.drop_after = set(range(10, 800, 10))
        with Client(service.url, limits=QUICK, connections=3) as client, ThreadPoolExecutor(8) as pool:
            seen = list(pool.map(lambda thread: play(client, thread), range(8)))
    assert seen == [[{"thread": thread, "t": t} for t in range(20)] * 5 for thread in range(8)]
    assert len(service.sessions) == 40
    for session in service.sessions.values():
        assert [seq for _, seq, _ in session.steps] == list(range(22))


def test_threads_may_share_a_session_too() -> None:
    with service_in_thread() as service, Client(service.url) as client, ThreadPoolExecutor(8) as pool:
        session = client.start("a")
        answers = list(pool.map(lambda t: session.tick({"t": t}), range(100)))
        assert sorted(answer.seq for answer in answers) == list(range(1, 101))
    assert sorted(body["t"] for body in service.sessions["a"].bodies("tick")) == list(range(100))


def test_errors_are_those_of_the_asyncio_client() -> None:
    with service_in_thread() as service, Client(service.url, limits=QUICK) as client:
        session = client.start("a")
        service.step_refusals["a", 1] = ["session_lost"]
        with pytest.raises(SessionLostError):
            session.tick({})


def test_nobody_listening_is_one_clear_error(unused_port: int) -> None:
    limits = RetryLimits(limit_s=0.1, request_s=0.1)
    with (
        Client(f"http://127.0.0.1:{unused_port}", limits=limits) as client,
        pytest.raises(ServiceUnreachableError, match="no connection to"),
    ):
        client.start("a")


def test_a_wait_ends_at_its_limit() -> None:
    with service_in_thread() as service, Client(service.url) as client:
        session = client.start("a")
        service.silent = True
        with pytest.raises(WaitTimeoutError, match=r"no result within 0\.05 s"):
            client.wait_for(session.inner.tick({}), 0.05)
        service.silent = False


def test_closing_fails_what_other_threads_wait_for_and_may_be_repeated() -> None:
    with service_in_thread() as service, ThreadPoolExecutor(1) as pool:
        client = Client(service.url)
        session = client.start("a")
        service.silent = True
        waiting = pool.submit(session.tick, {})
        while service.ticks == 0:
            client.counts  # noqa: B018
        client.close()
        with pytest.raises(ClientClosedError):
            waiting.result(WAIT_S)
        client.close()
        session.close()
        with pytest.raises(ClientClosedError, match="the client is closed"):
            session.tick({})
        assert clients_threads() == []


def test_a_client_that_is_forgotten_leaves_no_thread() -> None:
    client = Client("http://127.0.0.1:1")
    assert len(clients_threads()) == 1
    del client
    gc.collect()
    assert clients_threads() == []


def test_ctrl_c_ends_a_waiting_call_and_leaves_no_thread() -> None:
    ticked = threading.Event()

    def fall_silent(_: FakeSession) -> int:
        service.silent = True
        ticked.set()
        return 1

    with service_in_thread(fall_silent) as service:
        command = [sys.executable, "-c", INTERRUPTED, service.url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(), text=True) as process:
            assert ticked.wait(WAIT_S)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=WAIT_S)
    assert (process.returncode, output) == (3, "['MainThread']\n")


def test_a_program_that_closes_nothing_ends_all_the_same() -> None:
    with service_in_thread() as service:
        command = [sys.executable, "-c", FORGETFUL, service.url]
        done = subprocess.run(command, capture_output=True, env=environment(), text=True, timeout=WAIT_S, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{'auto': {}}\n", "")


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT)}
