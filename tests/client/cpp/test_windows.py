"""The C++ client compiles and links for Windows; where Wine is installed its programs also run."""

import asyncio
import json
import shutil
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from .build import CLIENT, HERE, run
from .fake_service import FakeService, Fault

COMPILER = "x86_64-w64-mingw32-g++"
WINE = (
    shutil.which("wine64") or shutil.which("wine") or next(iter(map(str, Path("/usr/lib/wine").glob("wine64"))), None)
)
WINE_TIMEOUT_S = 120
"""Longest run of a program; Wine's own start included."""

pytestmark = [
    pytest.mark.cpp,
    pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed"),
]


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the client's programs for Windows, built without a warning."""
    folder = tmp_path_factory.mktemp("windows")
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={CLIENT / 'cmake' / 'mingw-w64.cmake'}"
    run("cmake", "-S", str(HERE), "-B", str(folder), toolchain, "-DCMAKE_CXX_FLAGS=-Werror")
    run("cmake", "--build", str(folder), "--parallel", "2")
    return folder


def test_all_programs_link_with_the_sockets_of_windows(windows: Path) -> None:
    for program in (windows / "client" / "echo_game.exe", windows / "client_shell.exe", windows / "unit_tests.exe"):
        libraries = [
            line for line in run("x86_64-w64-mingw32-objdump", "-p", str(program)).splitlines() if "DLL" in line
        ]
        names = {line.split()[-1].lower() for line in libraries if "DLL Name" in line}
        assert names <= {"ws2_32.dll", "kernel32.dll", "msvcrt.dll"}, names
        assert "ws2_32.dll" in names or program.name == "unit_tests.exe"


@pytest.fixture(scope="module")
def wine(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The words in front of a program that run it."""
    if WINE is None:
        pytest.skip("Wine is not installed")
    return ["/usr/bin/env", f"WINEPREFIX={tmp_path_factory.mktemp('wine')}", "WINEDEBUG=-all", WINE]


def test_the_unit_tests_pass_under_wine(windows: Path, wine: list[str]) -> None:
    run(*wine[1:], str(windows / "unit_tests.exe"))


async def test_games_go_on_through_lost_connections_under_wine(
    windows: Path, wine: list[str], service: FakeService
) -> None:
    service.fault = lambda number, _: Fault(cut_after=number % 100 == 0, cut_before=number % 170 == 0)
    words = f"--port {service.port} --games 20 --ticks 50 --pipeline 4"
    process = await asyncio.create_subprocess_exec(
        *wine, windows / "client" / "echo_game.exe", *words.split(), stdout=PIPE, stderr=PIPE
    )
    output, errors = await asyncio.wait_for(process.communicate(), WINE_TIMEOUT_S)
    assert process.returncode == 0, (output, errors)
    told = json.loads(output)
    assert (told["lost"], told["wrong"], told["ticks"]) == (0, 0, 1000)
    assert told["reconnects"] >= 5
    assert {len(played.steps) for played in service.sessions.values()} == {51}
