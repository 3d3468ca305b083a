"""The C++ client plays sessions."""

import asyncio
import hashlib
import hmac
import subprocess
from pathlib import Path

import pytest

from app.wire.messages_pb2 import KIND_STOP, KIND_TICK, PURPOSE_EVALUATE

from .build import run
from .fake_service import FakeService, Fault
from .shell import Shell

pytestmark = pytest.mark.cpp


def test_the_unit_tests_pass(built: Path) -> None:
    told = run("ctest", "--test-dir", str(built), "--output-on-failure", "--no-tests=error", "--timeout", "60")
    assert "100% tests passed" in told


async def test_a_game_is_played_from_start_to_stop(program: Path, service: FakeService) -> None:
    async with Shell(program, port=service.port) as shell:
        assert (await shell.do('start s game red 1 evaluate {"role": 1}')).text == "null"
        first, second = await shell.do("tick s one"), await shell.do("tick s two")
        assert (first.seq, first.text, first.version) == (1, "one", "1.2")
        assert (second.seq, second.text, second.resumed_at) == (2, "two", None)
        assert (await shell.do("stop s end")).seq == 3
    played = service.sessions["game-agent-red"]
    assert played.steps == [(KIND_TICK, b"one"), (KIND_TICK, b"two"), (KIND_STOP, b"end")]
    assert (played.purpose, played.options) == (PURPOSE_EVALUATE, b'{"role": 1}')
    assert len(service.connections) == 1


async def test_a_stopped_session_may_be_started_again(program: Path, service: FakeService) -> None:
    async with Shell(program, port=service.port) as shell:
        await shell.do("start s game - 1 play")
        for _ in range(2):
            assert (await shell.do("tick s x")).seq == 1
            assert (await shell.do("stop s")).seq == 2
            assert (await shell.do("again s")).code == ""


async def test_ids_are_minted_by_the_service_or_where_an_agent_is_named_by_the_client(
    program: Path, service: FakeService
) -> None:
    service.fault = lambda number, _: Fault(cut_after=number == 1)  # The repeated start gets the same session.
    async with Shell(program, port=service.port) as shell:
        assert (await shell.do("start s - - 1 play")).code == ""
        assert (await shell.do("id s")).text == "minted-0"
        assert (await shell.do("tick s x")).text == "x"
        await shell.do("start t - blue 1 play")
        game, _, agent = (await shell.do("id t")).text.partition("-agent-")
    assert (len(game), agent) == (32, "blue")
    assert service.sessions.keys() == {"minted-0", f"{game}-agent-blue"}


async def test_a_question_needs_no_session(program: Path, service: FakeService) -> None:
    async with Shell(program, port=service.port) as shell:
        assert (await shell.do("ask - what")).text == "what"
    assert not service.sessions


async def test_many_sessions_share_one_connection_and_do_not_wait_for_each_other(
    program: Path, service: FakeService
) -> None:
    others_answered = asyncio.Event()
    async with Shell(program, port=service.port) as shell:
        for number in range(50):
            await shell.do(f"start s{number} game{number} - 1 play")
        service.fault = lambda _, request: Fault(held=others_answered) if request.step.body == b"slow" else Fault()
        shell.send("later s0 slow")
        for number in range(1, 50):
            shell.send(f"later s{number} {number}")
        lines = await shell.lines(49)
        others_answered.set()
        last = await shell.line()
    assert [line.text for line in lines] == [str(number) for number in range(1, 50)]
    assert last.name == "s0"
    assert len(service.connections) == 1


async def test_steps_of_a_session_are_pipelined_up_to_its_bound_and_delivered_in_order(
    program: Path, service: FakeService
) -> None:
    async with Shell(program, port=service.port, connections=2) as shell:
        await shell.do("start s game - 3 play")
        service.fault = lambda _, request: Fault(delay_s=0.3 if request.step.seq == 1 else 0.0)
        for number in range(1, 5):
            shell.send(f"later s {number}")
        refused, *answers = await shell.lines(4)
    assert refused.code == "too_many_steps"
    assert "3 steps under way" in refused.text
    assert [(answer.seq, answer.text) for answer in answers] == [(1, "1"), (2, "2"), (3, "3")]


async def test_a_batch_is_one_request_and_its_failures_stand_alone(program: Path, service: FakeService) -> None:
    async with Shell(program, port=service.port) as shell:
        for name in "abc":
            await shell.do(f"start {name} game-{name} - 2 play")
        service.refuse = lambda step: "bad_payload" if step.body == b"bad" else ""
        before = len(service.requests)
        shell.send("batch a:tick:1 b:tick:bad c:tick:3 a:stop:end")
        lines = await shell.lines(4)
        assert [(line.name, line.code or line.text) for line in lines] == [
            ("a", "1"), ("b", "bad_payload"), ("c", "3"), ("a", "end")
        ]  # fmt: skip
        assert len(service.requests) == before + 1
        shell.send("batch a:start: a:tick:x")
        assert [line.seq for line in await shell.lines(2)] == [0, 1]
        assert (await shell.do("tick b good")).seq == 1


async def test_a_batch_that_cannot_be_taken_whole_is_not_sent(program: Path, service: FakeService) -> None:
    async with Shell(program, port=service.port) as shell:
        await shell.do("start a game-a - 1 play")
        await shell.do("start b game-b - 1 play")
        refused = await shell.do("batch b:tick:1 a:tick:1 a:tick:2")
        assert refused.code == "too_many_steps"
        assert (await shell.do("tick a x")).seq == 1
        assert (await shell.do("tick b x")).seq == 1


async def test_a_token_is_signed_for_each_session(program: Path, service: FakeService) -> None:
    async with Shell(program, port=service.port, key="team", secret="hush") as shell:  # noqa: S106
        await shell.do("start s game red 1 play")
        await shell.do("tick s x")
        await shell.do("ask - x")
    for session, sent in zip(["game-agent-red", "game-agent-red", ""], service.credentials, strict=True):
        signed = f"{sent.key}\n{sent.time}\n{session}".encode()
        assert (sent.key, sent.token) == ("team", hmac.new(b"hush", signed, hashlib.sha256).hexdigest())


async def test_a_ready_token_is_sent_as_it_is(program: Path, service: FakeService) -> None:
    async with Shell(program, port=service.port, key="team", token="abc") as shell:  # noqa: S106
        await shell.do("start s game red 1 play")
    assert [(sent.key, sent.token) for sent in service.credentials] == [("team", "abc")]


async def test_calls_that_cannot_work_are_refused_at_once(program: Path, service: FakeService) -> None:
    async with Shell(program, port=service.port, max_unanswered=2) as shell:
        assert (await shell.do("start s game bad-name 1 play")).code == "misuse"
        assert (await shell.do("start s game - 9 play")).code == "misuse"
        assert (await shell.do("start s ga\x7fme - 1 play")).code == "misuse"
        await shell.do("start s game - 4 play")
        service.fault = lambda _, __: Fault(delay_s=0.3)
        for number in range(3):
            shell.send(f"later s {number}")
        refused = await shell.line()
        assert (refused.code, "Options::max_unanswered allows 2" in refused.text) == ("queue_full", True)
        await shell.lines(2)


def test_options_out_of_bounds_are_refused(program: Path) -> None:
    told = subprocess.run([program, "port=0"], capture_output=True, text=True, check=False, timeout=20)
    assert told.returncode == 3
    assert "misuse: Options::port is 0; allowed are 1 to 65535" in told.stdout


async def test_a_callback_that_waits_is_told_so(program: Path, service: FakeService) -> None:
    async with Shell(program, port=service.port) as shell:
        await shell.do("start s game - 2 play")
        line = await shell.do("wait-in-callback s")
    assert (line.code, "a callback waits" in line.text) == ("misuse", True)
