"""The programs that come with the C++ client, and the client as others build it."""

import asyncio
import json
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest

from app.wire.messages_pb2 import Answer, Reply, Request

from .build import run
from .fake_service import FINE, FakeService, Fault, framed

pytestmark = pytest.mark.cpp

PROGRAM_TIMEOUT_S = 60
CONSUMER = """\
cmake_minimum_required(VERSION 3.21)
project(consumer LANGUAGES CXX)
find_package(sparring_client REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE sparring::client)
"""


async def ended(program: Path, *words: object) -> tuple[int | None, str, str]:
    """Returns exit code and output of a program."""
    process = await asyncio.create_subprocess_exec(program, *map(str, words), stdout=PIPE, stderr=PIPE)
    output, errors = await asyncio.wait_for(process.communicate(), PROGRAM_TIMEOUT_S)
    return process.returncode, output.decode(), errors.decode()


async def echo_game(built: Path, service: FakeService, *words: object) -> tuple[int | None, dict[str, Any]]:
    code, output, errors = await ended(built / "client" / "echo_game", "--port", service.port, *words)
    assert output, errors
    return code, json.loads(output)


async def test_the_documented_program_plays(built: Path, service: FakeService) -> None:
    assert await ended(built / "documented", service.port) == (0, "160 ticks\n", "")
    assert len(service.sessions) == 9
    assert {len(played.steps) for played in service.sessions.values()} == {21}


async def test_the_example_plays_through_lost_connections_and_replies(built: Path, service: FakeService) -> None:
    service.fault = lambda number, _: Fault(
        cut_after=number % 100 == 0, cut_before=number % 170 == 0, delay_s=0.001 * (number % 3)
    )
    code, told = await echo_game(built, service, "--games", 20, "--ticks", 50, "--pipeline", 4, "--agent", "red")
    assert (code, told["lost"], told["wrong"], told["ticks"]) == (0, 0, 0, 1000)
    assert told["reconnects"] >= 5
    assert {played.seq for played in service.sessions.values()} == {51}
    assert {len(played.steps) for played in service.sessions.values()} == {51}


async def test_the_example_fails_where_an_answer_is_wrong(built: Path, service: FakeService) -> None:
    def fault(_: int, request: Request) -> Fault:
        wrong = Reply(request_id=request.request_id, answer=Answer(seq=request.step.seq, body=b"another's"))
        third = request.step.session == "echo-0" and request.step.seq == 3
        return Fault(raw=framed(wrong.SerializeToString())) if third else FINE

    service.fault = fault
    code, told = await echo_game(built, service, "--games", 2, "--ticks", 10, "--pipeline", 1)
    assert (code, told["wrong"], told["lost"]) == (1, 1, 0)


async def test_the_example_fails_where_a_game_is_lost(built: Path, service: FakeService) -> None:
    service.fault = lambda number, _: Fault(code="session_lost") if number == 7 else FINE
    code, told = await echo_game(built, service, "--games", 2, "--ticks", 10)
    assert (code, told["lost"]) == (1, 1)
    assert told["first_error"].startswith("session_lost")


async def test_the_example_names_a_word_that_it_does_not_know(built: Path) -> None:
    code, _, errors = await ended(built / "client" / "echo_game", "--prot", 1)
    assert code == 2
    assert "--prot is not known; allowed are --host, --port" in errors


async def test_an_installed_client_is_found_by_another_project(
    built: Path, service: FakeService, tmp_path: Path
) -> None:
    run("cmake", "--install", str(built / "client"), "--prefix", str(tmp_path / "installed"))
    (tmp_path / "CMakeLists.txt").write_text(CONSUMER)
    (tmp_path / "main.cpp").write_text((built.parent / "documented.cpp").read_text())
    prefix = f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}"
    run("cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), prefix)
    run("cmake", "--build", str(tmp_path / "build"))
    assert (await ended(tmp_path / "build" / "consumer", service.port))[0] == 0
